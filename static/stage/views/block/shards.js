/** The same layer on several devices: what each adds, that it adds up to the model's own, and what crosses for it. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { rounding } from "../../../shared/facts/dtypes.js";
import { bytes, counted, integer, percent } from "../../../shared/facts/format.js";
import { NOT_STORED } from "../../../shared/facts/saved-session.js";
import { useModelValues } from "../../../shared/loading/use-model-values.js";
import { Badge } from "../../../shared/ui/badge.js";
import { crossing, deviceChoices, HALVES, holdings, joinedIn, sharing } from "./shard-facts.js";
import { ShardSum } from "./shard-sum.js";

const WAITING = {
  idle: "While tokens are being made the model is left alone. Pause to see the layer on several devices.",
  loading: "The layer is computed on each device’s weights…",
  unavailable: "This is computed by the model, which is not ready.",
  none: `What each device would add is ${NOT_STORED}.`,
  failed: "The model did not give what each device adds.",
};

/** @param {{scene: Object, state: Object, client: Object}} props */
export function Shards({ scene, state, client }) {
  const { run, layer, query, step, dims } = scene;
  const choices = deviceChoices(dims.kvHeads);
  const [wanted, setWanted] = useState(2);
  const devices = choices.includes(wanted) ? wanted : 2;
  const asked = state.following || choices.length === 0 ? null : { run: run.id, step, layer, position: query, devices };
  const { status, values } = useModelValues(state, client.ask("shards"), asked, "shards");
  if (choices.length === 0) {
    return html`<p>This model has one K/V head, which every query head reads: its attention is not cut by heads.</p>`;
  }
  return html`
    <p class="shards-say">
      Tensor parallelism: every device has the whole row, but only its part of the weights and of the cache. It works alone
      until its part of a change is there; the parts are added up, twice per layer, and all go on with the same row.
    </p>
    <div class="block-layers line" role="group" aria-label="Devices">
      ${choices.map(
        (each) =>
          html`<button class="button is-choice small" type="button" key=${each} aria-pressed=${each === devices} onClick=${() => setWanted(each)}>${each} devices</button>`,
      )}
    </div>
    ${
      values
        ? html`<${Answer} answer=${values} devices=${devices} run=${run} dims=${dims} />`
        : html`<p role="status">${WAITING[status] ?? WAITING.failed}</p>`
    }
  `;
}

function Answer({ answer, devices, run, dims }) {
  const held = holdings(answer, dims.heads / dims.kvHeads);
  return html`
    <ul class="shards-held row" aria-label="What each device holds">
      ${held.map(
        ({ kv, heads, columns, parameters, share }, device) => html`<li key=${device}>
          <b>Device ${device}</b> <span class="word-cached">${ranged("KV head", kv)}</span>, read by ${ranged("head", heads)};
          ${" "}${integer(columns)} of the ${integer(dims.mlp)} numbers in the MLP;
          ${" "}<span class="word-weights">${integer(parameters)} weights</span>, ${percent(share, 0)}
        </li>`,
      )}
    </ul>
    <p class="shards-note muted small">${sharing(held, dims.kvHeads)}</p>
    <div class="shards-halves grid">
    ${HALVES.map(
      ({ half, name, by }) =>
        html`<${ShardSum} key=${half} name=${name} by=${by} joined=${joinedIn(answer, half)} apart=${rounding(run.open.model)} />`,
    )}
    </div>
    <${Crossing} model=${run.open.model} devices=${devices} />
  `;
}

/** "KV head 2", "KV heads 0–1" */
function ranged(noun, [first, last]) {
  return first === last ? `${noun} ${first}` : `${noun}s ${first}–${last}`;
}

function Crossing({ model, devices }) {
  const { sum, layer, model: whole, waits } = crossing(model, devices);
  const ring = devices > 2 ? ` × ${2 * (devices - 1)}/${devices}` : "";
  return html`<p class="shards-say">
      <b>What crosses</b>, by formula: for each sum a device sends ${integer(model.d)} numbers × ${model.element_bytes} B${ring} =
      ${" "}${bytes(sum)}, and gets as much. Two sums are <b class="number">${bytes(layer)}</b> per token and layer;
      ${" "}${counted(model.layers, "layer")}: <b class="number">${bytes(whole)}</b> per token. Little, but ${integer(waits)} times per token all wait
      for each other: that is why such devices need a fast link.
    </p>
    <p class="shards-note muted small">
      Really computed here, one device after the other, with slices of the model’s own weights <${Badge} origin="computed" />. The
      embedding and the LM head can be cut too, and are not counted. Megatron-LM, arXiv:1909.08053.
    </p>`;
}
