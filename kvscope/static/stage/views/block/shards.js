/** The same layer on several devices: the part of each, their sum beside the model's result, and the traffic between them. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { rounding } from "../../../shared/facts/dtypes.js";
import { bytes, integer, percent } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { form, msg, nodes, plural } from "../../../shared/words/msg.js";
import { useModelValues } from "../../state/use-model-values.js";
import { PartSum } from "./part-sum.js";
import { crossing, deviceChoices, HALVES, holdings, joinedIn, sharing } from "./shard-facts.js";

const WAITING = {
  idle: msg`The run is still writing. Pause it to see the layer on several devices.`,
  loading: msg`The model is computing each device’s part…`,
  unavailable: msg`The model computes this, and it is not ready.`,
  none: msg`The parts of the devices are not stored with this session, and its model cannot be asked for them here.`,
  failed: msg`The model did not give the parts of the devices.`,
};

/** @param {{scene: Object, state: Object, client: Object}} props */
export function Shards({ scene, state, client }) {
  const { run, layer, query, step, dims } = scene;
  const choices = deviceChoices(dims.kvHeads);
  const [selected, setSelected] = useState(2);
  const devices = choices.includes(selected) ? selected : 2;
  const request =
    state.following || choices.length === 0 ? null : { run: run.id, step, layer, position: query, devices };
  const { status, values } = useModelValues(state, client.ask("shards"), request, "shards");
  if (choices.length === 0) {
    return html`<p>${msg`This model has one KV head, which every query head reads. This picture stores each KV head on one device only, so it cannot divide the attention. Servers divide the query heads and store the KV head on every device.`}</p>`;
  }
  return html`
    <p class="parts-text">
      ${msg`Tensor parallelism: every device has the whole row, but only its part of the weights and of the cache. It computes its part of a change alone. The parts are added twice per layer; then all devices continue with the same row.`}
    </p>
    <div class="block-layers line" role="group" aria-label=${msg`Devices`}>
      ${choices.map(
        (count) =>
          html`<button class="button is-choice small" type="button" key=${count} aria-pressed=${count === devices} onClick=${() => setSelected(count)}>${msg`${count} devices`}</button>`,
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
  const parts = holdings(answer, dims.heads / dims.kvHeads);
  return html`
    <ul class="parts-held row" aria-label=${msg`What each device holds`}>
      ${parts.map(
        ({ kv, heads, columns, parameters, share }, device) => html`<li key=${device}>
          <b>${msg`Device ${device}`}</b> <span class="word-cached">${kvHeadsLabel(kv)}</span>, ${readersLabel(heads)};
          ${" "}${msg`${integer(columns)} of the ${integer(dims.mlp)} inner numbers of the MLP`};
          ${" "}<span class="word-weights">${weightsLabel(parameters)}</span>, ${percent(share, 0)}
        </li>`,
      )}
    </ul>
    <p class="parts-note muted small">${sharing(parts, dims.kvHeads)}</p>
    <div class="parts-halves grid">
    ${HALVES.map(
      ({ half, name, parts: text }) =>
        html`<${PartSum} key=${half} name=${name} parts=${text} titleOf=${(device) => msg`device ${device}`} joined=${joinedIn(answer, half)} cause=${rounding(run.open.model)} />`,
    )}
    </div>
    <${Traffic} model=${run.open.model} devices=${devices} />
  `;
}

const kvHeadsLabel = ([first, last]) => (first === last ? msg`KV head ${first}` : msg`KV heads ${first}–${last}`);

const readersLabel = ([first, last]) =>
  first === last ? msg`read by head ${first}` : msg`read by heads ${first}–${last}`;

const weightsLabel = (count) => plural(count, form`${integer(count)} weight`, form`${integer(count)} weights`);

function Traffic({ model, devices }) {
  const { sum, layer, model: whole, waits } = crossing(model, devices);
  const ring = devices > 2 ? ` × ${2 * (devices - 1)}/${devices}` : "";
  const sent = `${integer(model.d)} × ${model.element_bytes} B${ring} = ${bytes(sum)}`;
  const [layerBytes, modelBytes] = [layer, whole].map((each) => html`<b class="number">${bytes(each)}</b>`);
  const badge = html`<${Badge} origin="computed" />`;
  return html`<p class="parts-text">
      <b>${msg`Traffic between the devices, by formula.`}</b>
      ${" "}${msg`For each sum, a device sends ${integer(model.d)} numbers, ${sent}, and receives as much.`}
      ${" "}${nodes`The two sums of a layer need ${layerBytes} per token; all ${model.layers} layers need ${modelBytes}.`}
      ${" "}${msg`This is little, but all devices wait for each other ${integer(waits)} times per token. So the delay of each exchange counts as well as its bytes.`}
    </p>
    <p class="parts-note muted small">
      ${nodes`These parts are computed here, one device after the other, with slices of the model’s own weights ${badge}.`}
      ${" "}${msg`The embedding and the LM head can be divided too; they are not counted. Source: Megatron-LM, arXiv:1909.08053.`}
    </p>`;
}
