/** Zoom "head": one head's whole matrix, one query's strongest keys, the vectors of one cell, and who shares its K and V. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { headSentence, rowWeights } from "../../facts/attention.js";
import { counted, percent, quoted } from "../../facts/format.js";
import { strongestOn } from "../../look-here/heads-worth-seeing.js";
import { DotProduct } from "./dot-card.js";
import { KvSharing } from "./kv-sharing.js";
import { HeadMatrix } from "./matrix.js";
import { TopKeys } from "./top-keys.js";

/** More tokens than this and cells get too small to point at: a window around the chosen cell is offered. */
const READABLE_TOKENS = 48;

/** While the run is awaited, `focus.key` is null: the places stand, and what will be in them is said. */
export function HeadView({ state, focus, exact, dispatch }) {
  const [close, setClose] = useState(false);
  const { run, hover } = state;
  const { layer, head, query, newest } = focus;
  const awaited = focus.key === null;
  const many = newest >= READABLE_TOKENS;
  const row = awaited ? null : rowWeights(run, layer, head, query, exact);
  return html`
    <h2>${awaited ? "With the first step, this shows where a head looks." : headSentence(run, layer, head, query, row)}</h2>
    <p class="head-how"><${Links} run=${run} cell=${state.selection} focus=${focus} dispatch=${dispatch} /></p>
    <div class="inspector-body">
      <${HeadMatrix}
        run=${run} focus=${focus} hover=${hover} close=${many && close} dispatch=${dispatch}
      />
      <div class="inspector-side">
        <${TopKeys} run=${run} focus=${focus} row=${row} dispatch=${dispatch} />
        ${
          many &&
          html`<button type="button" class="matrix-zoom" aria-pressed=${close} disabled=${awaited} onClick=${() => setClose(!close)}>
          ${close ? "Whole matrix" : "Zoom to cell"}
        </button>`
        }
        <${KvSharing} run=${run} focus=${focus} dispatch=${dispatch} />
      </div>
    </div>
    <${DotProduct} state=${state} focus=${focus} exact=${exact} dispatch=${dispatch} />
  `;
}

/** How to read the matrix; once a cell is chosen that the step in sight has, which head of the whole model gives it the most weight, and the way there. */
function Links({ run, cell, focus, dispatch }) {
  const { query, key } = cell;
  const isThere = query !== null && key !== null && focus.key !== null && query <= focus.newest;
  const top = useMemo(() => (isThere ? strongestOn(run, query, key) : null), [run, isThere, query, key]);
  if (focus.key === null) return "Rows are queries, columns keys: a token can look at itself and at those before it.";
  if (!top)
    return "Rows are queries, columns keys; amber: this step, grey: earlier ones. Click a cell: which head looks there most?";
  const { layer, head, share } = top;
  const all = counted(run.layers * run.heads, "head");
  const link = `${quoted(run.tokens[query], 12)} to ${key === query ? "itself" : quoted(run.tokens[key], 12)}`;
  if (layer === focus.layer && head === focus.head) return html`Of all ${all}, <b>this one</b> links ${link} the most.`;
  return html`Of all ${all},${" "}
    <button type="button" onClick=${() => dispatch({ type: "select", selection: { layer, head } })}>layer ${layer}, head ${head}</button>
    ${" "}links ${link} the most: ${percent(share, 0)}.`;
}
