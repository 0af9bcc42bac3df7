/** Zoom "head": one head's whole matrix, where one query looks, all heads of the layer, and one cell in a line. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { lookSentence, rowWeights } from "../../../shared/facts/attention.js";
import { DotLine } from "./dot-line.js";
import { Heads } from "./heads.js";
import { Looks } from "./looks.js";
import { HeadMatrix } from "./matrix.js";
import { Phases, whySoMany } from "./phases.js";

/** More tokens than this and cells get too small to point at: a window around the chosen cell is offered. */
const READABLE_TOKENS = 48;

function stillAt(step, sight, layer) {
  const before = step < 0 ? "" : `This is still step ${step}: `;
  return `${before}${before ? "step" : "Step"} ${sight} has not reached layer ${layer}.`;
}

const isLocked = ({ selection }) => selection.query !== null || selection.key !== null;

/**
 * While the run is awaited, `focus.key` is null: the places stand, and what will be in them is said. The row is that of the
 * log, whether or not its exact numbers are there: a share must not change because somebody paused. `sight`: the step that
 * the page shows, which may not have reached this layer.
 */
export function HeadView({ state, sight, focus, exact, dispatch }) {
  const [close, setClose] = useState(false);
  const { run, hover, step } = state;
  const { layer, head, query, newest, preview } = focus;
  const awaited = focus.key === null;
  const many = newest >= READABLE_TOKENS;
  const row = awaited ? null : rowWeights(run, layer, head, query);
  return html`
    <h2>${awaited ? "With the first step, this shows where a head looks." : lookSentence(run, query, row)}${
      preview && html` <small>layer ${layer}, head ${head}: click to keep it</small>`
    }</h2>
    ${(!isLocked(state) || sight > step) && html`<p class="muted small">${sight > step ? stillAt(step, sight, layer) : whySoMany(run, newest)}</p>`}
    <div class="head-place"><div class="head-body anchor grow">
      <${HeadMatrix} run=${run} focus=${focus} hover=${hover} close=${many && close} dispatch=${dispatch} />
      <div class="head-side">
        <${Looks} run=${run} focus=${focus} row=${row} fresh=${run.stepOfQuery(query) === step} dispatch=${dispatch} />
        <div class="head-column fill">
          ${
            many &&
            html`<button type="button" class="button matrix-zoom small" aria-pressed=${close} disabled=${awaited} onClick=${() => setClose(!close)}>
            ${close ? "Whole matrix" : "Zoom to cell"}
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
