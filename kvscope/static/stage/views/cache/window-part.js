/** Positions and bytes per layer and step in local layers, which have a sliding window, beside global layers. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { bytes, integer, listed } from "../../../shared/facts/format.js";
import { lacking } from "../../../shared/facts/lacking.js";
import { blockSizeOf } from "../../../shared/log/model.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Chart } from "../../../shared/ui/chart.js";
import { Table } from "../../../shared/ui/table.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { heldByStep, layerBytes, layerKinds } from "../../kv-cache/facts.js";

/** @param {{run: Object, step: number, onPick: Function}} props `run`: of a model with windows */
export function WindowPart({ run, step, onPick }) {
  const { model } = run.open;
  const { kv } = run.steps[step].data;
  const count = run.steps.length;
  const series = useMemo(() => heldSeries(run), [run, count]);
  const kinds = layerKinds(model);
  return html`<h4 data-names="cache-windows">${msg`Local and global layers`} <${Badge} origin="measured" /></h4>
    <p class="sheet-say">${sentence(kinds.local, lacking(run, ["blocks"]) ? null : blockSizeOf(run))}</p>
    <div class="sheet-columns">
      <${Chart}
        label=${msg`Positions that one layer holds after each step`} x=${{ name: msg`step` }}
        y=${{ name: msg`positions`, format: integer }} series=${series} current=${step} onPick=${onPick} height=${190}
      />
      <${Table} name=${msg`Bytes of one layer by the formula`}
        caption=${html`${msg`Step ${step}: bytes of one layer = 2 × KV heads × numbers per head × positions × bytes per number`} <${Badge} origin="computed" />`}
        columns=${[{ head: msg`layers` }, { head: msg`positions` }, { head: msg`one layer` }, { head: msg`all of them` }]}
        rows=${[
          kindRow(msg`global`, kinds.global, kv.positions, model),
          kindRow(msg`local`, kinds.local.layers, kv.windowed?.positions ?? kv.positions, model),
        ]}
      />
    </div>`;
}

function sentence({ widths, layers }, size) {
  const local = plural(
    layers.length,
    form`${layers.length} layer is local: its queries read only the newest ${widths} keys.`,
    form`${layers.length} layers are local: their queries read only the newest ${widths} keys.`,
  );
  if (size === null)
    return `${local} ${msg`What no query can read any more is dropped, so a local layer stops growing. All other layers are global and keep every position.`}`;
  return `${local} ${msg`What no query can read any more is dropped, ${size} positions at a time, so a local layer stops growing. All other layers are global and keep every position.`}`;
}

function kindRow(name, layers, positions, model) {
  if (!layers.length) return null;
  const one = layerBytes(model, positions);
  const { kv_heads: kvHeads, head_dim: headDim, element_bytes: each } = model;
  return {
    head: html`<span title=${listed(layers.map(String))}>${name}: ${layers.length}</span>`,
    cells: [
      integer(positions),
      html`<td title=${`2 × ${kvHeads} × ${headDim} × ${positions} × ${each}`}>${bytes(one)}</td>`,
      bytes(one * layers.length),
    ],
  };
}

function heldSeries(run) {
  const { global, local } = heldByStep(run);
  return [
    { name: msg`a global layer`, kind: "stairs", tone: "cached", points: global },
    { name: msg`a local layer`, kind: "stairs", tone: "computed", points: local },
  ];
}
