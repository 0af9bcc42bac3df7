/** The form of the calculator, as a sentence with fields: model, requests, tokens, GPUs and how they divide it, dtypes, prefix. */

import { html } from "htm/preact";
import { Form } from "../../shared/ui/form.js";
import { msg, nodes } from "../../shared/words/msg.js";
import { DTYPES, OWN_GPU, WEIGHTS, withoutSeparators } from "../setup.js";
import { Choice, Whole } from "./fields.js";
import { Layout } from "./layout-choice.js";

const CUSTOM = "";

/** @param {{texts: Object, known: Object, setup: import("../setup.js").Setup, problem: Object|null, actions: Object}} props */
export function Sentence({ texts, known, setup, problem, actions }) {
  const { model: chosen } = setup;
  const field = (name, label) => ({ name, label, text: texts[name], problem, put: (text) => actions.put(name, text) });
  const models = known.models.map(({ id, name }) => ({ id, name }));
  const listed = known.gpus.map(({ id, name }) => ({ id, name: name.replace("NVIDIA ", "") }));
  const gpus = [...listed, { id: OWN_GPU, name: msg`GPU of your own…` }];
  const isPrefixUseless = withoutSeparators(texts.requests) === "1" && withoutSeparators(texts.prefix) !== "0";
  const own = texts.config ? [{ id: CUSTOM, name: chosen.name }] : [];
  const model = html`<${Choice} ...${field("model", msg`Model`)} text=${texts.config ? CUSTOM : texts.model} options=${[...own, ...models]} put=${actions.chooseModel} />`;
  const requests = html`<${Whole} ...${field("requests", msg`Requests at once`)} />`;
  const tokens = html`<${Whole} ...${field("context", msg`Tokens each`)} />`;
  const count = html`<${Whole} ...${field("gpus", msg`Number of GPUs`)} />`;
  const gpu = html`<${Choice} ...${field("gpu", msg`GPU`)} options=${gpus} />`;
  const weights = html`<${Choice} ...${field("weights", msg`Weights dtype`)} options=${WEIGHTS.map(dtypeChoice)} />`;
  const cache = html`<${Choice} ...${field("cache", msg`Cache dtype`)} options=${DTYPES.map(dtypeChoice)} />`;
  const prefix = html`<${Whole} ...${field("prefix", msg`Shared prefix, tokens`)} />`;
  return html`<${Form} class="sentence stack" aria-label=${msg`Inputs`}>
    <p class="sentence-main">${nodes`${model} answers ${requests} requests at once, ${tokens} tokens each, on ${count} ${gpu}`}</p>
    ${texts.gpu === OWN_GPU && html`<${OwnGpu} field=${field} />`}
    <${Layout} texts=${texts} setup=${setup} field=${field} />
    <p class="sentence-more muted">
      ${nodes`Weights (learned numbers) in ${weights}, cache in ${cache}. The first ${prefix} tokens of all requests are the same and stored once.`}
      ${chosen.published && chosen.published !== texts.weights && html` <${Published} dtype=${chosen.published} put=${(text) => actions.put("weights", text)} />`}
      ${isPrefixUseless && ` ${msg`A single request saves nothing.`}`}
    </p>
    ${problem && html`<p class="own-wrong word-bad breaks" id="own-wrong" role="alert">${problem.text} ${msg`The results below are for the previous inputs.`}</p>`}
  <//>`;
}

/** The numbers of a GPU that is not in the list. */
function OwnGpu({ field }) {
  const memory = html`<${Whole} ...${field("memory", msg`Memory, GB`)} />`;
  const bandwidth = html`<${Whole} ...${field("bandwidth", msg`Bandwidth, GB/s`)} />`;
  const peak = html`<${Whole} ...${field("peak", msg`Peak in 16 bits, TFLOP/s`)} />`;
  return html`<p class="sentence-more muted">${nodes`Your GPU has ${memory} GB of memory, reads ${bandwidth} GB/s, and computes at most ${peak} TFLOP/s in 16 bits (without sparsity).`}</p>`;
}

/** Sets the weights to the format in which the model is published. */
function Published({ dtype, put }) {
  const { name } = dtypeChoice(dtype);
  return html`<button type="button" class="link-button" onClick=${() => put(dtype)}>${msg`Use the published weights: ${name}`}</button>`;
}

function dtypeChoice(id) {
  const [all, experts] = id.split("+");
  const [dtype, group] = all.split("-");
  if (experts) return { id, name: msg`${dtype}, experts in ${experts}` };
  return { id, name: group ? msg`${dtype}, one scale factor per ${group} numbers` : dtype };
}
