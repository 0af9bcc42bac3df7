/** Whether it fits, where it stops, and the memory as a bar: the first thing to be seen. */

import { html } from "htm/preact";
import { bytesShort, counted, integer } from "../../shared/facts/format.js";
import { barOf } from "../bar.js";
import { mostRequests, mostTokens } from "../fits.js";

const PERCENT = 100;
/** Of what is left; requests that are smaller are not marked there. */
const LEAST_SHARE = 0.004;

/** @param {{understood: import("../asked.js").Understood, gpuName: string}} props */
export function Verdict({ understood, gpuName }) {
  const { model, inputs } = understood;
  const bar = barOf(model, inputs);
  const fits = bar.left >= 0;
  return html`<section class="verdict stack box" aria-label="Does it fit">
    <p class="verdict-big"><b class=${`number ${fits ? "" : "is-bad"}`}>${bytesShort(bar.used)}</b> <span>of the ${bytesShort(bar.memory)} of ${inputs.gpus === 1 ? "one" : integer(inputs.gpus)} ${gpuName}</span></p>
    <p class="verdict-says" role="status"><b class=${fits && !tooLong(model, inputs) ? "is-good" : "is-bad"}>${headline(model, inputs, bar)}</b> <${Stops} model=${model} inputs=${inputs} bar=${bar} /></p>
    <${Bar} bar=${bar} inputs=${inputs} />
    <${Key} bar=${bar} inputs=${inputs} fits=${fits} />
  </section>`;
}

/** Whether more tokens are asked for than the model was made for. */
const tooLong = (model, { context }) => model.context !== null && context > model.context;

/** One verdict: of memory, and of what the model was made for. */
function headline(model, inputs, bar) {
  const most = tooLong(model, inputs) ? `the model was made for at most ${integer(model.context)} tokens` : "";
  if (bar.left >= 0) return most ? `The memory would do, but ${most}.` : `It fits, ${bytesShort(bar.left)} are left.`;
  const least = Math.ceil(bar.used / inputs.gpu.memory);
  return `It does not fit: ${bytesShort(-bar.left)} too much; ${counted(least, "GPU")} of this kind would hold all of it${most && `, but ${most}`}.`;
}

const WHY = {
  context: "the longest that its config names",
  memory: "there the memory is full",
  limit: "no more is counted",
};

/** At what numbers it stops, and why there. */
function Stops({ model, inputs, bar }) {
  if (bar.weights > bar.memory) {
    const least = Math.ceil(bar.weights / inputs.gpu.memory);
    return html`The weights alone need <b>${counted(least, "GPU")}</b>.`;
  }
  const people = mostRequests(model, inputs);
  const tokens = mostTokens(model, inputs);
  const each = inputs.requests === 1 ? "" : " each";
  return html`It ${people.stop === "limit" ? "does not stop below" : "stops at"} <b>${counted(people.value, "person", "people")}</b> with ${counted(inputs.context, "token")} each.
    ${inputs.requests === 1 ? " One alone" : ` ${integer(inputs.requests)} at once`} can have <b>${counted(tokens.value, "token")}</b>${each}: ${WHY[tokens.stop]}.`;
}

function Bar({ bar, inputs }) {
  const share = (bytes) => ({ width: `${(PERCENT * bytes) / bar.scale}%` });
  const each = bar.pieces === 1 ? bar.each * inputs.requests : bar.each;
  const card = PERCENT * (bar.memory / bar.scale);
  return html`<div class="bar anchor" role="img" aria-label=${inWords(bar, inputs)}>
    <span class="bar-piece strong nowrap still is-weights" style=${share(bar.weights)}><span>weights</span></span>
    ${bar.prefix > 0 && html`<span class="bar-piece strong nowrap still is-prefix" style=${share(bar.prefix)}></span>`}
    ${Array.from({ length: bar.pieces }, (_, at) => html`<span key=${at} class="bar-piece strong nowrap still is-cache" style=${share(each)}></span>`)}
    ${bar.left > 0 && html`<span class="bar-piece strong nowrap still is-free" style=${{ ...share(bar.left), "--each": `${PERCENT * marked(bar)}%` }}></span>`}
    ${bar.left < 0 && html`<span class="bar-over" style=${{ left: `${card}%`, width: `${PERCENT - card}%` }}></span>`}
  </div>`;
}

/** How much of what is left another request would take; 1, and no mark, where they would be too thin to be told apart. */
function marked({ each, left }) {
  return each / left < LEAST_SHARE ? 1 : each / left;
}

function inWords(bar, { requests }) {
  const prefix = bar.prefix > 0 ? `${bytesShort(bar.prefix)} of shared prefix, ` : "";
  const left = bar.left >= 0 ? `${bytesShort(bar.left)} left` : `${bytesShort(-bar.left)} too much`;
  return `${bytesShort(bar.weights)} of weights, ${prefix}${integer(requests)} times ${bytesShort(bar.each)} of cache, ${left}`;
}

function Key({ bar, inputs, fits }) {
  return html`<ul class="bar-key row muted" aria-hidden="true">
    <li class="is-weights">weights <b class="number">${bytesShort(bar.weights)}</b></li>
    ${bar.prefix > 0 && html`<li class="is-prefix">shared prefix, stored once <b class="number">${bytesShort(bar.prefix)}</b></li>`}
    <li class="is-cache">KV cache <b class="number">${integer(inputs.requests)} × ${bytesShort(bar.each)}</b></li>
    <li class=${fits ? "is-free" : "is-over"}>${fits ? "left" : "too much"} <b class="number">${bytesShort(Math.abs(bar.left))}</b></li>
  </ul>`;
}
