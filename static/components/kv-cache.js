/** What the KV cache holds at this step: bytes as measured, the formula beside them, and the blocks they lie in. */

import { html } from "htm/preact";
import { cacheAccount } from "../model/cache-facts.js";
import { bytes, counted, fixed, integer } from "../model/format.js";
import { Badge } from "./bits.js";

export function KvCache({ state }) {
  const { run, step } = state;
  return html`<section class="facts" aria-label="KV cache">
    <h2>KV cache <${Badge} origin="measured" /></h2>
    ${run?.steps.length ? html`<${Account} run=${run} step=${step} />` : html`<p class="facts-empty">Its bytes appear with the first step.</p>`}
  </section>`;
}

function Account({ run, step }) {
  const account = cacheAccount(run, step);
  const { model } = run.open;
  const { rows, positions, written, used, reserved, blocks, allHeads } = account;
  const formula = `${rows} × ${model.layers} × ${model.kv_heads} × ${model.head_dim} × 2 × ${model.element_bytes} B`;
  return html`<dl>
      <dt>this step wrote</dt>
      <dd title="positions × layers × KV heads × head dim × K and V × bytes per number">${formula} = <${Checked} ...${written} /></dd>
      <dt>cache now</dt>
      <dd>${counted(positions, "position")} · <${Checked} ...${used} /></dd>
      <dt>reserved</dt>
      <dd>${counted(blocks.length, "block")} × ${account.blockSize} · <${Checked} ...${reserved} /></dd>
      <dt>block table</dt>
      <dd class="block-table"><${BlockTable} account=${account} /> ${integer(reserved.unused)} unused</dd>
      ${allHeads.ratio > 1 &&
      html`<dt>with ${model.heads} KV heads (MHA)</dt>
        <dd>${bytes(allHeads.bytes)} · ${fixed(allHeads.ratio, 1)}× <${Badge} origin="computed" /></dd>`}
      <dt>without a cache</dt>
      <dd>${counted(positions, "row")} computed, ${integer(positions - rows)} of them again <${Badge} origin="computed" /></dd>
    </dl>`;
}

/** Measured bytes, with the formula's verdict. */
function Checked({ measured, formula }) {
  if (measured === formula) return html`<b>${bytes(measured)}</b> <span class="check-good" title=${`the formula gives ${bytes(formula)} too`}>✓<span class="check-word"> formula</span></span>`;
  return html`<b>${bytes(measured)}</b> <span class="check-bad">✗ formula: ${bytes(formula)}</span>`;
}

function BlockTable({ account: { blocks, blockSize } }) {
  return html`<ol class="blocks" aria-label="Block table">
    ${blocks.map(
      ({ id, filled, sharedBy }) =>
        html`<li
          class=${sharedBy > 1 ? "is-shared" : ""}
          style=${`--filled:${((filled / blockSize) * 100).toFixed(1)}%`}
          title=${`block ${id}: ${filled} of ${blockSize} positions filled${sharedBy > 1 ? `, shared by ${sharedBy} sequences` : ""}`}
        >${id}${sharedBy > 1 && html`<sup>×${sharedBy}</sup>`}</li>`,
    )}
  </ol>`;
}
