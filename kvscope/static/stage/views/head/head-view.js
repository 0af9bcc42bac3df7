/** Zoom "head": one head's attention matrix, the largest weights of one query, all heads of the layer, and one weight as a formula. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { lookSentence, rowWeights } from "../../../shared/facts/attention.js";
import { isInherited } from "../../../shared/facts/step-rows.js";
import { msg } from "../../../shared/words/msg.js";
import { DotLine } from "./dot-line.js";
import { Heads } from "./heads.js";
import { Looks } from "./looks.js";
import { HeadMatrix } from "./matrix.js";
import { Phases, rowsExplained, windowExplained } from "./phases.js";

/** With more tokens the cells are too small to point at; the page then offers a window around the selected cell. */
const READABLE_TOKENS = 48;

function stillAt(step, sight, layer) {
  return step < 0
    ? msg`Step ${sight} has not reached layer ${layer}.`
    : msg`This is still step ${step}: step ${sight} has not reached layer ${layer}.`;
}

const isLocked = ({ selection }) => selection.query !== null || selection.key !== null;

/**
 * Before the first step `focus.key` is null, and the view shows its empty layout. The row comes from the log even where exact
 * numbers are available, so that the percentages do not change when the reader pauses. `sight`: the step that the page shows,
 * which may not have reached this layer.
 */
export function HeadView({ state, sight, focus, exact, dispatch }) {
  const [close, setClose] = useState(false);
  const { run, hover, step } = state;
  const { layer, head, query, newest, preview } = focus;
  const awaited = focus.key === null;
  const rows = sight > step ? stillAt(step, sight, layer) : isLocked(state) ? "" : rowsExplained(run, newest);
  const about = [rows, windowExplained(run, layer)].filter(Boolean).join(" ");
  const many = newest >= READABLE_TOKENS;
  const row = awaited ? null : rowWeights(run, layer, head, query);
  return html`
    <h2>${awaited ? msg`After the first step, this shows which tokens a head looks at.` : lookSentence(run, query, row)}${
      preview && html` <small>${msg`layer ${layer}, head ${head}: press to select it`}</small>`
    }</h2>
    ${about && html`<p class="muted small">${about}</p>`}
    <div class="head-place"><div class="head-body anchor grow">
      <${HeadMatrix} run=${run} focus=${focus} hover=${hover} close=${many && close} dispatch=${dispatch} />
      <div class="head-side">
        <${Looks} run=${run} focus=${focus} row=${row} fresh=${run.stepOfQuery(query) === step && !isInherited(run, step)} dispatch=${dispatch} />
        <div class="head-column fill">
          ${
            many &&
            html`<button type="button" class="button matrix-zoom small" aria-pressed=${close} disabled=${awaited} onClick=${() => setClose(!close)}>
            ${close ? msg`Whole matrix` : msg`Zoom to cell`}
          </button>`
          }
          <${Heads} run=${run} focus=${focus} dispatch=${dispatch} />
          <${Phases} run=${run} newest=${newest} />
        </div>
      </div>
    </div></div>
    <${DotLine} state=${state} focus=${focus} exact=${exact} dispatch=${dispatch} />
  `;
}
