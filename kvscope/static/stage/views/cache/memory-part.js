/** The memory of a cache: the formula with this model's numbers, bytes by step, and its blocks. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { bytes, bytesShort, fixed, integer, percent } from "../../../shared/facts/format.js";
import { lacking } from "../../../shared/facts/lacking.js";
import { stepRows } from "../../../shared/facts/step-rows.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Chart } from "../../../shared/ui/chart.js";
import { Table } from "../../../shared/ui/table.js";
import { positionsInWords } from "../../../shared/words/counts.js";
import { form, msg, nodes, plural } from "../../../shared/words/msg.js";
import { cacheAccount, cacheBytes, cacheGrowth, globalBytes, localLayers, otherCaches } from "../../kv-cache/facts.js";
import { Smaller } from "./smaller.js";
import { WindowPart } from "./window-part.js";

export function MemoryPart({ run, step, ready, client, dispatch }) {
  const account = cacheAccount(run, step);
  const { model } = run.open;
  const [noEngine, noBlocks] = [["engine"], ["blocks"]].map((needs) => lacking(run, needs));
  const onPick = (to) => dispatch({ type: "seek", step: to });
  return html`<p class="sheet-say">
      ${nodes`One more token takes ${html`<b>${bytes(cacheBytes(model, 1))}</b>`}: one K vector and one V vector in each KV head of each layer.`}
      ${model.windows && ` ${msg`Once local layers are full, they drop as much as they write, and one more token adds ${bytes(globalBytes(model))} on average.`}`}
    </p>
    <${Formula} model=${model} account=${account} />
    ${model.windows && html`<${WindowPart} run=${run} step=${step} onPick=${onPick} />`}
    <${Growth} run=${run} step=${step} onPick=${onPick} />
    ${!noEngine && html`<${Smaller} key=${run.id} run=${run} ready=${ready} client=${client} dispatch=${dispatch} />`}
    <h4 data-names="cache-blocks">${msg`The blocks of this cache`} ${!noBlocks && html`<${Badge} origin="measured" />`}</h4>
    ${noBlocks ? html`<p class="sheet-say muted">${noBlocks}</p>` : html`<${Blocks} account=${account} newest=${stepRows(run, step).computed} />`}`;
}

function Formula({ model, account }) {
  const { positions, windowed, used } = account;
  const near = windowed ? localLayers(model) : 0;
  const factors = [
    { value: 2, name: msg`K and V` },
    ...(near
      ? [
          {
            value: html`(${model.layers - near} × ${positions} + ${near} × ${windowed.positions})`,
            name: msg`layers × positions: global, and local`,
          },
        ]
      : [
          { value: model.layers, name: msg`layers` },
          { value: positions, name: msg`positions` },
        ]),
    { value: model.kv_heads, name: msg`KV heads` },
    { value: model.head_dim, name: msg`numbers per head` },
    { value: model.element_bytes, name: msg`bytes per number` },
  ];
  const agrees = used.measured === used.formula;
  return html`<div class="formula row" role="group" aria-label=${msg`Bytes by the formula`}>
    ${factors.map(
      ({ value, name }, i) =>
        html`${i > 0 && html`<i>×</i>`}<span key=${name}><b>${value}</b><small>${name}</small></span>`,
    )}
    <i>=</i>
    <span><b>${bytes(used.formula)}</b><small><${Badge} origin="computed" /></small></span>
    <i class=${agrees ? "word-output" : "word-bad"}>${agrees ? "✓" : "✗"}</i>
    <span><b>${bytes(used.measured)}</b><small>${msg`size of the tensors`} <${Badge} origin="measured" /></small></span>
  </div>`;
}

function Growth({ run, step, onPick }) {
  const count = run.steps.length;
  const series = useMemo(() => growthSeries(run), [run, count]);
  const now = run.steps[step].data.kv.bytes_used;
  return html`<div class="sheet-columns">
    <div>
      <h4>${msg`Bytes by step`}</h4>
      <${Chart}
        label=${msg`Measured bytes of this cache by step, and bytes of other caches`} x=${{ name: msg`step` }}
        y=${{ name: msg`bytes`, format: bytesShort }} series=${series} current=${step} onPick=${onPick} height=${230}
      />
    </div>
    <div>
      <${Table} name=${msg`The same positions in other caches`}
        caption=${html`${msg`The same positions in other caches`} <${Badge} origin="computed" />`}
        columns=${[{ head: msg`cache` }, { head: msg`bytes` }, { head: msg`relative size` }]}
        rows=${[
          {
            head: html`${thisCache(run.open.model)} <${Badge} origin="measured" />`,
            cells: [bytes(now), "1×"],
            current: true,
          },
          ...otherCaches(run.open.model).map(({ name, ratio }) => ({
            head: name,
            cells: [bytes(now * ratio), ratioText(ratio)],
          })),
        ]}
      />
      <p class="sheet-note muted small">
        ${msg`MHA: one KV head for each query head. MQA: one KV head for all query heads. bf16 and int8: this cache with 2 bytes or 1 byte per number. int8 also stores scales (factors that restore the range), which need a little more.`}
      </p>
    </div>
  </div>`;
}

function thisCache({ heads, kv_heads: kvHeads, dtype }) {
  const kind = kvHeads === heads ? "MHA" : kvHeads === 1 ? "MQA" : "GQA";
  return plural(
    kvHeads,
    form`this cache: ${kvHeads} KV head (${kind}), ${dtype}`,
    form`this cache: ${kvHeads} KV heads (${kind}), ${dtype}`,
  );
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
    ...(lacking(run, ["blocks"])
      ? []
      : [{ name: msg`reserved (measured)`, kind: "stairs", tone: "reserved", points: reserved }]),
    { name: msg`used (measured)`, kind: "stairs", tone: "cached", points: used },
  ];
}

function Blocks({ account, newest }) {
  const { blocks, blockSize, positions, reserved, used, windowed } = account;
  const dropped = windowed ? blocks.length - windowed.blocks : 0;
  const full = used.measured / reserved.measured;
  const shared = blocks.filter(({ sharedBy }) => sharedBy > 1).length;
  return html`<p class="sheet-say">
      ${msg`A run gets blocks of ${blockSize} positions, when it needs them, from a pool for all runs. So it does not reserve space for its longest possible answer.`}${" "}
      ${plural(
        blocks.length,
        form`This run fills ${integer(positions)} positions of ${blocks.length} block: ${bytes(used.measured)} of ${bytes(reserved.measured)}.`,
        form`This run fills ${integer(positions)} positions of ${blocks.length} blocks: ${bytes(used.measured)} of ${bytes(reserved.measured)}.`,
      )}${" "}
      ${nodes`Used: ${html`<b>${percent(full)}</b>`}. The rest is reserved and still empty.`}
      ${dropped > 0 && ` ${msg`Pale: the first blocks (${dropped}), which only global layers still hold.`}`}
      ${shared > 0 && ` ${msg`Blocks shared with another run: ${shared}. Their memory is counted once.`}`}
    </p>
    <ol class="block-map row" aria-label=${msg`Blocks of the cache`}>
      ${blocks.map(
        (block, i) => html`<${Block}
          key=${block.id} block=${block} first=${i * blockSize} size=${blockSize} fresh=${positions - newest} dropped=${i < dropped}
        />`,
      )}
    </ol>`;
}

/** `fresh`: the first position that this step wrote; `dropped`: local layers no longer hold the block. */
function Block({ block, first, size, fresh, dropped }) {
  const { id, filled, sharedBy } = block;
  const number = first / size + 1;
  const last = first + filled - 1;
  const name = msg`Block ${number} of this run, block ${id} of the pool.`;
  const label = filled
    ? msg`${name} ${positionsInWords(first, last)}: ${filled} of ${size} filled.`
    : msg`${name} It is empty.`;
  const slotClass = (slot) => (slot >= filled ? "" : first + slot >= fresh ? "is-fresh" : "is-cached");
  const classes = [sharedBy > 1 && "is-shared", dropped && "is-dropped"].filter(Boolean).join(" ");
  const words = [
    label,
    ...(sharedBy > 1 ? [msg`Runs that share it: ${sharedBy}.`] : []),
    ...(dropped ? [msg`Local layers have dropped it.`] : []),
  ].join(" ");
  return html`<li class=${classes} aria-label=${words}>
    <span class="block-name small">${msg`block ${number}`} <small>${msg`pool block ${id}`}</small>${sharedBy > 1 && html` · <b>${msg`shared ×${sharedBy}`}</b>`}</span>
    <span class="block-cells" aria-hidden="true">
      ${Array.from({ length: size }, (_, slot) => html`<i key=${slot} class=${slotClass(slot)}></i>`)}
    </span>
  </li>`;
}
