/** Whether the requests fit into the memory, how many would, and the memory as a bar. */

import { html } from "htm/preact";
import { bytesShort, integer } from "../../shared/facts/format.js";
import { gpuCount, requestCount, tokenCount } from "../../shared/words/counts.js";
import { form, msg, nodes, pluralNodes } from "../../shared/words/msg.js";
import { barOf, LEAST_SHARE } from "../bar.js";
import { gpusForWeights, gpusNeeded, mostRequests, mostTokens } from "../fits.js";

const PERCENT = 100;

/** @param {{setup: import("../setup.js").Setup, gpuName: string}} props */
export function Verdict({ setup, gpuName }) {
  const { model, inputs } = setup;
  const bar = barOf(model, inputs);
  const fits = bar.left >= 0;
  const used = html`<b class=${`number ${fits ? "" : "is-bad"}`}>${bytesShort(bar.used)}</b>`;
  const [memory, gpus] = [bytesShort(bar.memory), integer(inputs.gpus)];
  return html`<section class="verdict stack box" aria-label=${msg`Does it fit`} data-names="verdict">
    <p class="verdict-big">${
      inputs.gpus === 1
        ? nodes`${used} of the ${memory} of one ${gpuName}`
        : nodes`${used} of the ${memory} of each of ${gpus} × ${gpuName}`
    }</p>
    <p class="verdict-text" role="status"><b class=${fits && !tooLong(model, inputs) ? "is-good" : "is-bad"}>${headline(model, inputs, bar)}</b> <${Limits} model=${model} inputs=${inputs} bar=${bar} /></p>
    <${Bar} bar=${bar} />
    <${Key} bar=${bar} fits=${fits} />
  </section>`;
}

/** Whether the context is longer than the model's config allows. */
const tooLong = (model, { context }) => model.context !== null && context > model.context;

function headline(model, inputs, bar) {
  const longest = tooLong(model, inputs) && tokenCount(model.context);
  if (bar.left >= 0) {
    return longest
      ? msg`The memory is large enough, but the model’s config allows at most ${longest}.`
      : msg`It fits: ${bytesShort(bar.left)} are free.`;
  }
  const count = gpusNeeded(model, inputs);
  const lack = bytesShort(-bar.left);
  const missing =
    count === null
      ? msg`It does not fit: ${lack} are missing on each GPU, with any number of GPUs divided this way.`
      : msg`It does not fit: ${lack} are missing. It would fit on ${gpuCount(count)} of this kind.`;
  return longest ? `${missing} ${msg`The model’s config allows at most ${longest}.`}` : missing;
}

/** The most requests with this context, and the longest context with this number of requests. */
function Limits({ model, inputs, bar }) {
  if (bar.weights > bar.memory) {
    const count = gpusForWeights(model, inputs);
    if (count === null) return msg`The weights alone do not fit, with any number of GPUs divided this way.`;
    return nodes`The weights alone need ${html`<b>${gpuCount(count)}</b>`}.`;
  }
  const [requests, tokens] = [mostRequests(model, inputs), mostTokens(model, inputs)];
  const most = html`<b>${requestCount(requests.value)}</b>`;
  const longest = html`<b>${tokenCount(tokens.value)}</b>`;
  const [context, count] = [tokenCount(inputs.context), requestCount(inputs.requests)];
  const texts = {
    context: nodes`With ${count}, each can have ${longest}, the longest context in the model’s config.`,
    memory: nodes`With ${count}, each can have ${longest}; then the memory is full.`,
    limit: nodes`With ${count}, each can have ${longest}, the most that this page counts.`,
  };
  return html`${
    requests.stop === "limit"
      ? nodes`With ${context} each, at least ${most} fit, the most that this page counts.`
      : pluralNodes(
          requests.value,
          form`With ${context} each, at most ${most} fits.`,
          form`With ${context} each, at most ${most} fit.`,
        )
  } ${texts[tokens.stop]}`;
}

function Bar({ bar }) {
  const share = (bytes) => ({ width: `${(PERCENT * bytes) / bar.scale}%` });
  const each = bar.pieces === 1 ? bar.each * bar.requests : bar.each;
  const card = PERCENT * (bar.memory / bar.scale);
  return html`<div class="bar anchor" role="img" aria-label=${descriptionOf(bar)}>
    <span class="bar-piece strong nowrap still is-weights" style=${share(bar.weights)}><span>${msg`weights`}</span></span>
    ${bar.prefix > 0 && html`<span class="bar-piece strong nowrap still is-prefix" style=${share(bar.prefix)}></span>`}
    ${Array.from({ length: bar.pieces }, (_, at) => html`<span key=${at} class="bar-piece strong nowrap still is-cache" style=${share(each)}></span>`)}
    ${bar.left > 0 && html`<span class="bar-piece strong nowrap still is-free" style=${{ ...share(bar.left), "--each": `${PERCENT * marked(bar)}%` }}></span>`}
    ${bar.left < 0 && html`<span class="bar-over" style=${{ left: `${card}%`, width: `${PERCENT - card}%` }}></span>`}
  </div>`;
}

/** Returns the share of the free memory that one more request takes; 1, so without a mark, if a piece were too thin to see. */
function marked({ each, left }) {
  return each / left < LEAST_SHARE ? 1 : each / left;
}

function descriptionOf(bar) {
  const left = bytesShort(Math.abs(bar.left));
  return [
    msg`weights: ${bytesShort(bar.weights)}`,
    ...(bar.prefix > 0 ? [msg`shared prefix: ${bytesShort(bar.prefix)}`] : []),
    msg`KV cache: ${integer(bar.requests)} × ${bytesShort(bar.each)}`,
    bar.left >= 0 ? msg`free: ${left}` : msg`missing: ${left}`,
  ].join(", ");
}

function Key({ bar, fits }) {
  return html`<ul class="bar-key row muted" aria-hidden="true">
    <li class="is-weights">${msg`weights`} <b class="number">${bytesShort(bar.weights)}</b></li>
    ${bar.prefix > 0 && html`<li class="is-prefix">${msg`shared prefix, stored once`} <b class="number">${bytesShort(bar.prefix)}</b></li>`}
    <li class="is-cache">${msg`KV cache`} <b class="number">${integer(bar.requests)} × ${bytesShort(bar.each)}</b></li>
    <li class=${fits ? "is-free" : "is-over"}>${fits ? msg`free` : msg`missing`} <b class="number">${bytesShort(Math.abs(bar.left))}</b></li>
  </ul>`;
}
