/** What the KV cache holds at this step: bytes as measured, the formula beside them, and the blocks they lie in. */

import { html } from "htm/preact";
import { bytes, counted, fixed, integer } from "../facts/format.js";
import { rowsWithoutCache } from "../facts/twins.js";
import { isAwaited, whenSettled } from "../state/settled.js";
import { Badge } from "../ui/badge.js";
import { Fact } from "../ui/fact.js";
import { Memo } from "../ui/memo.js";
import { OpenView } from "../ui/open-view.js";
import { Term } from "../words/term.js";
import { cacheAccount, cacheBytes, cacheForecast } from "./facts.js";

export function KvCache({ state, dispatch }) {
  const { run, step } = whenSettled(state);
  return html`<section class="facts" aria-label="KV cache">
    ${
      run?.shows
        ? html`<${Account} run=${run} step=${step} awaited=${isAwaited({ run, step })} dispatch=${dispatch} />`
        : html`<h2>KV cache</h2>
          <p class="facts-empty">Its bytes appear with the first step of a run.</p>`
    }
  </section>`;
}

/** While the run is awaited, what its first step will write, by the formula alone. */
function Account({ run, step, awaited, dispatch }) {
  const account = awaited ? cacheForecast(run) : cacheAccount(run, step);
  const { rows, positions, written, used, reserved, room, blocks, blockSize, allHeads } = account;
  const { layers, heads, kv_heads: kvHeads, head_dim: headDim, element_bytes: elementBytes } = run.open.model;
  const agrees = [written, used, reserved].every(({ measured, formula }) => measured === formula);
  return html`<div class="facts-head">
      <h2>
        <${Term} id="kv-cache">KV cache<//> <${Badge} origin=${awaited ? "computed" : "measured"} />${" "}
        <small>${awaited ? "by the formula" : agrees ? "✓ the formula agrees" : "✗ the formula does not agree"}</small>
      </h2>
      <${OpenView} view="cache" dispatch=${dispatch}>Why a cache?<//>
    </div>
    <dl>
      <${Fact} name=${step > 0 && rows === 1 ? "one more token" : counted(rows, "new token")}>
        <${Factors} parts=${[
          ...(rows > 1 ? [rows] : []),
          counted(layers, "layer"),
          counted(kvHeads, "KV head"),
          counted(headDim, "number"),
          "2 (K, V)",
          counted(elementBytes, "byte"),
        ]} /> = <${Checked} ...${written} />
      <//>
      <${Fact} name="cache now">
        ${
          awaited
            ? `${counted(run.partialRows, "position")} · ${bytes(cacheBytes(run.open.model, run.partialRows))}`
            : html`${counted(positions, "position")} · <${Checked} ...${used} />`
        }
      <//>
      <${Fact} name="reserved" term="reserved">${counted(room, "block")} × ${blockSize} · <${Checked} ...${reserved} /><//>
      <${Fact} name="block table" term="block-table" class="block-table">
        <${BlockTable} blocks=${blocks} blockSize=${blockSize} /><span>${integer(reserved.unused)} unused</span>
      <//>
      ${
        allHeads.ratio > 1 &&
        html`<${Fact} name=${`with ${heads} KV heads (MHA)`} term="mha" origin="computed">
        ${bytes(allHeads.bytes)} · ${fixed(allHeads.ratio, 1)}×
      <//>`
      }
      <${Fact} name="without a cache" origin="computed" hint="rows through the model, from the prompt to this step">
        ${awaited || step === 0 ? `${counted(positions, "row")}, the same so far` : rowsByNow(run, step)}
      <//>
    </dl>`;
}

function rowsByNow(run, step) {
  const { cached, without } = rowsWithoutCache(run, step + 1);
  return `${counted(without, "row")} by now, not ${integer(cached)}`;
}

/** A product whose factors say what they count; a line may end after a factor, never within one. */
function Factors({ parts }) {
  return parts.map((part, i) => html`<span class="factor" key=${part}>${i > 0 && "× "}${part}</span> `);
}

/** Measured bytes, with the formula's verdict; before there are any, the formula's. */
function Checked({ measured, formula }) {
  if (measured === null) return html`<b>${bytes(formula)}</b>`;
  if (measured === formula)
    return html`<b>${bytes(measured)}</b> <span
      class="check-good" title=${`the formula gives ${bytes(formula)} too`}
    >✓</span>`;
  return html`<b>${bytes(measured)}</b> <span class="check-bad">✗ formula: ${bytes(formula)}</span>`;
}

function BlockTable({ blocks, blockSize }) {
  return html`<ol class="blocks" aria-label="Block table">
    ${blocks.map((block) => html`<${Memo} of=${Block} key=${block.id} ...${block} blockSize=${blockSize} />`)}
  </ol>`;
}

function Block({ id, filled, sharedBy, blockSize }) {
  const shared = sharedBy > 1;
  const words = `block ${id}: ${filled} of ${blockSize} positions filled`;
  return html`<li
    class=${shared ? "is-shared" : ""}
    style=${`--filled:${((filled / blockSize) * 100).toFixed(1)}%`}
    title=${shared ? `${words}, shared by ${sharedBy} sequences` : words}
  >${id}${shared && html`<sup>×${sharedBy}</sup>`}</li>`;
}
