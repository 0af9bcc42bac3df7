/** Zoom "head": one head's whole matrix, one query's strongest keys, the vectors of one cell, and who shares its K and V. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { counted } from "../../model/format.js";
import { headSentence } from "../../model/map-facts.js";
import { DotProduct } from "../dot-product.js";
import { KvSharing } from "../head/kv-sharing.js";
import { HeadMatrix } from "../head-matrix.js";
import { TopKeys } from "../top-keys.js";

/** More tokens than this and cells get too small to point at: a window around the chosen cell is offered. */
const READABLE_TOKENS = 48;

export function HeadView({ state, focus, exact, dispatch }) {
  const [close, setClose] = useState(false);
  const { run, hover } = state;
  const { layer, head, query, newest } = focus;
  const many = newest >= READABLE_TOKENS;
  const decoded = newest - run.promptLength + 1;
  return html`
    <h2>${headSentence(run, layer, head, query)}</h2>
    <div class="inspector-body">
      <${HeadMatrix}
        run=${run} focus=${focus} hover=${hover} theme=${state.theme} close=${many && close} dispatch=${dispatch}
      />
      <div class="inspector-side">
        <${TopKeys} run=${run} focus=${focus} dispatch=${dispatch} />
        ${many &&
        html`<button type="button" class="matrix-zoom" aria-pressed=${close} onClick=${() => setClose(!close)}>
          ${close ? "Whole matrix" : "Zoom to cell"}
        </button>`}
        <${KvSharing} run=${run} focus=${focus} dispatch=${dispatch} />
        <p class="inspector-how">
          Rows are queries, columns the keys they may read.${" "}
          ${decoded > 0 && `Below the line: decode, ${counted(decoded, "row")}, one a step.`}
        </p>
      </div>
    </div>
    <${DotProduct} state=${state} focus=${focus} exact=${exact} dispatch=${dispatch} />
  `;
}
