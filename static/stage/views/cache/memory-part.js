/** The memory a cache takes: the formula with this model's numbers, bytes by step, and the blocks they lie in. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { bytes, bytesShort, counted, fixed, percent } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Chart } from "../../../shared/ui/chart.js";
import { cacheAccount, cacheBytes, cacheGrowth, otherCaches } from "../../kv-cache/facts.js";
import { Smaller } from "./smaller.js";

export function MemoryPart({ run, step, ready, client, dispatch }) {
  const account = cacheAccount(run, step);
  const { model } = run.open;
  const onPick = (to) => dispatch({ type: "seek", step: to });
  return html`<p class="sheet-say">
      One more token costs <b>${bytes(cacheBytes(model, 1))}</b>: in each of ${counted(model.layers, "layer")}, each of
      ${" "}${counted(model.kv_heads, "KV head")} keeps one K and one V of ${model.head_dim} numbers, ${bytes(model.element_bytes)} each.
    </p>
    <${Formula} model=${model} account=${account} />
    <${Growth} run=${run} step=${step} onPick=${onPick} />
    <${Smaller} key=${run.id} run=${run} ready=${ready} client=${client} dispatch=${dispatch} />
    <h4>The blocks they lie in <${Badge} origin="measured" /></h4>
    <${Blocks} account=${account} newest=${run.steps[step].rows} />`;
}

function Formula({ model, account }) {
  const { positions, used } = account;
  const factors = [
    { value: 2, name: "K and V" },
    { value: model.layers, name: "layers" },
    { value: model.kv_heads, name: "KV heads" },
    { value: model.head_dim, name: "numbers per head" },
    { value: positions, name: "positions" },
    { value: model.element_bytes, name: "bytes per number" },
  ];
  const agrees = used.measured === used.formula;
  return html`<div class="formula row" role="group" aria-label="Bytes by the formula">
    ${factors.map(
      ({ value, name }, i) =>
        html`${i > 0 && html`<i>×</i>`}<span key=${name}><b>${value}</b><small>${name}</small></span>`,
    )}
    <i>=</i>
    <span><b>${bytes(used.formula)}</b><small><${Badge} origin="computed" /></small></span>
    <i class=${agrees ? "word-output" : "word-bad"}>${agrees ? "✓" : "✗"}</i>
    <span><b>${bytes(used.measured)}</b><small>read off the tensors <${Badge} origin="measured" /></small></span>
  </div>`;
}

function Growth({ run, step, onPick }) {
  const count = run.steps.length;
  const series = useMemo(() => growthSeries(run), [run, count]);
  const now = run.steps[step].data.kv.bytes_used;
  return html`<div class="sheet-columns is-chart">
    <div>
      <h4>Bytes by step</h4>
      <${Chart}
        label="Bytes of the cache by step, measured, and what other caches would take" x=${{ name: "step" }}
        y=${{ name: "bytes", format: bytesShort }} series=${series} current=${step} onPick=${onPick} height=${230}
      />
    </div>
    <div>
      <table class="numbers" aria-label="The same positions in other caches">
        <caption>The same positions, kept otherwise <${Badge} origin="computed" /></caption>
        <thead><tr><th scope="col">cache</th><th scope="col">bytes</th><th scope="col">of this one</th></tr></thead>
        <tbody>
          <tr class="is-current">
            <th scope="row">this one, ${own(run.open.model)} <${Badge} origin="measured" /></th>
            <td>${bytes(now)}</td><td>1×</td>
          </tr>
          ${otherCaches(run.open.model).map(
            ({ id, name, ratio }) => html`<tr key=${id}>
              <th scope="row">${name}</th><td>${bytes(now * ratio)}</td><td>${ratioText(ratio)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
      <p class="sheet-note muted small">
        MHA: each query head has K and V of its own. MQA: all share one. bf16 and int8: this cache with 2 bytes or 1 byte per
        number; int8 would need a little more for its scales.
      </p>
    </div>
  </div>`;
}

function own({ heads, kv_heads: kvHeads, dtype }) {
  const kind = kvHeads === heads ? "MHA" : kvHeads === 1 ? "MQA" : "GQA";
  return `${counted(kvHeads, "KV head")} (${kind}), ${dtype}`;
}

function ratioText(ratio) {
  return ratio >= 1 ? `${fixed(ratio, 1)}×` : `1/${fixed(1 / ratio, Number.isInteger(1 / ratio) ? 0 : 1)}`;
}

function growthSeries(run) {
  const { used, reserved } = cacheGrowth(run);
  return [
    ...otherCaches(run.open.model).map(({ name, ratio }) => ({
      name,
      kind: "line",
      tone: "plain",
      thin: true,
      points: used.map(({ x, y }) => ({ x, y: y * ratio })),
    })),
    { name: "reserved (measured)", kind: "stairs", tone: "reserved", points: reserved },
    { name: "used (measured)", kind: "stairs", tone: "cached", points: used },
  ];
}

function Blocks({ account, newest }) {
  const { blocks, blockSize, positions, reserved, used } = account;
  const full = used.measured / reserved.measured;
  const shared = blocks.filter(({ sharedBy }) => sharedBy > 1).length;
  return html`<p class="sheet-say">
      Memory is handed out in blocks of ${counted(blockSize, "position")}, so a run never reserves its longest possible length.
      ${" "}${counted(positions, "position")} fill ${percent(full)} of ${counted(blocks.length, "block")}:
      ${" "}${bytes(used.measured)} of ${bytes(reserved.measured)}; <b>${percent(1 - full)}</b> waits empty.
      ${shared > 0 && ` ${counted(shared, "block")} shared with another run: the same memory, counted once.`}
    </p>
    <ol class="block-map row" aria-label="Blocks of the cache">
      ${blocks.map(
        (block, i) => html`<${Block}
          key=${block.id} block=${block} first=${i * blockSize} size=${blockSize} fresh=${positions - newest}
        />`,
      )}
    </ol>`;
}

/** `fresh`: the first position that this step wrote. */
function Block({ block, first, size, fresh }) {
  const { id, filled, sharedBy } = block;
  const name = `block ${first / size + 1}`;
  const words = `${name}, number ${id} of the pool: positions ${first} to ${first + filled - 1}, ${filled} of ${size} filled`;
  const slotClass = (slot) => (slot >= filled ? "" : first + slot >= fresh ? "is-fresh" : "is-kept");
  return html`<li class=${sharedBy > 1 ? "is-shared" : ""} aria-label=${sharedBy > 1 ? `${words}, shared by ${sharedBy}` : words}>
    <span class="block-name small">${name} <small>pool ${id}</small>${sharedBy > 1 && html` · <b>shared ×${sharedBy}</b>`}</span>
    <span class="block-cells" aria-hidden="true">
      ${Array.from({ length: size }, (_, slot) => html`<i key=${slot} class=${slotClass(slot)}></i>`)}
    </span>
  </li>`;
}
