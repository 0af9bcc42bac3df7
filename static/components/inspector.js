/** The inspector at head level: one head's whole matrix, one query's strongest keys, one dot product. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { headSentence, whereKeyStands } from "../model/map-facts.js";
import { headFocus } from "../model/head-focus.js";
import { Token } from "./bits.js";
import { DotProduct } from "./dot-product.js";
import { HeadMatrix } from "./head-matrix.js";
import { TopKeys } from "./top-keys.js";

export function Inspector({ state, dispatch, client }) {
  const { run } = state;
  return html`<section class="inspector" aria-label="Inspector">
    ${run?.steps.length ? html`<${Head}
      state=${state} dispatch=${dispatch} client=${client}
    />` : html`<p class="empty">Choose a head on the map to see where it looks.</p>`}
  </section>`;
}

/** More tokens than this and cells get too small to point at: a window around the chosen cell is offered. */
const READABLE_TOKENS = 48;

function Head({ state, dispatch, client }) {
  const [close, setClose] = useState(false);
  const { run, hover } = state;
  const focus = headFocus(state);
  const { layer, head, query, key, newest } = focus;
  const many = newest >= READABLE_TOKENS;
  const decoded = newest - run.promptLength + 1;
  return html`
    <p class="breadcrumb">
      Model <i>▸</i> Layer ${layer} <i>▸</i> <strong>Head ${head}</strong> <i>▸</i>${" "}
      <${Token} token=${run.tokens[query]} /> → <${Token} token=${run.tokens[key]} />
      ${query > 0 && ` · ${whereKeyStands(query, key)}`}
      ${focus.preview && html`<span class="preview">preview: click to keep</span>`}
    </p>
    <h2>${headSentence(run, layer, head, query)}</h2>
    <div class="inspector-body">
      <${HeadMatrix}
        run=${run} focus=${focus} hover=${hover} theme=${state.theme} close=${many && close} dispatch=${dispatch}
      />
      <div class="inspector-side">
        <${TopKeys} run=${run} focus=${focus} dispatch=${dispatch} />
        <p class="inspector-how">
          Rows are queries, columns the keys they may read. <span class="word-cached">Blue rows</span>: prefill, all at
          once.${decoded === 1 && " Below the line: decode, one row so far."}
          ${decoded > 1 && ` Below the line: decode, ${decoded} rows one by one.`}
        </p>
        ${many &&
        html`<button type="button" class="matrix-zoom" aria-pressed=${close} onClick=${() => setClose(!close)}>
          ${close ? "Whole matrix" : "Zoom to cell"}
        </button>`}
      </div>
    </div>
    <${DotProduct} state=${state} focus=${focus} client=${client} />
  `;
}
