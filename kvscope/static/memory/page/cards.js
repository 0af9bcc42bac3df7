/** The results: bytes, what fits, the best possible speed. Each opens to its arithmetic. */

import { html } from "htm/preact";
import { integer, milliseconds, short } from "../../shared/facts/format.js";
import { peakOfAttention, peakOfWeights } from "../../shared/sizes/peaks.js";
import { ResultDetails } from "../../shared/sizes/result-details.js";
import { batchBytes, cacheBytesPerToken, layerBytesPerToken, requestBytes } from "../../shared/sizes/sizes.js";
import { timePerToken, timeToFirstToken } from "../../shared/sizes/speed.js";
import { requestCount, tokenCount } from "../../shared/words/counts.js";
import { msg } from "../../shared/words/msg.js";
import { expected } from "../curves.js";
import { fits, mostRequests, mostTokens, roomForCache, usedBytes, weightsOnGpu } from "../fits.js";

/** @param {{setup: import("../setup.js").Setup}} props */
export function Bytes({ setup: { model, inputs } }) {
  const { cache, context, requests } = inputs;
  return html`<section class="own-card stack box" aria-label=${msg`Bytes`} data-names="bytes">
    <h2>${msg`Bytes of KV cache`}</h2>
    <${ResultDetails} name=${msg`One token in one layer`} result=${layerBytesPerToken(model, cache)} kind="is-cache" />
    <${ResultDetails} name=${msg`One token`} result=${cacheBytesPerToken(model, cache)} kind="is-cache" />
    <${ResultDetails} name=${msg`One request of ${tokenCount(context)}`} result=${requestBytes(model, context, cache)} kind="is-cache" />
    <${ResultDetails} name=${msg`All: ${requestCount(requests)}`} result=${batchBytes(model, inputs, cache)} kind="is-cache" />
    ${model.window && html`<p class="muted">${windowText(model)}</p>`}
    ${inputs.gpus > 1 && html`<p class="muted">${msg`These are the bytes of one copy, however many GPUs store it or a part of it.`}</p>`}
  </section>`;
}

function windowText({ window, layers }) {
  const [windowed, tokens] = [integer(window.layers.length), integer(window.tokens)];
  return msg`${windowed} of ${integer(layers)} layers store only the newest ${tokens} tokens.`;
}

export function Fits({ setup: { model, inputs } }) {
  const { room, value, stop } = mostRequests(model, inputs);
  const tokens = mostTokens(model, inputs);
  const free = integer(room.value);
  return html`<section class="own-card stack box" aria-label=${msg`What fits`} data-names="fits">
    <h2>${inputs.gpus === 1 ? msg`What fits, weights included` : msg`What fits on each GPU, weights included`}</h2>
    <${ResultDetails} name=${msg`Weights`} result=${weightsOnGpu(model, inputs)} kind="is-weights" />
    <${ResultDetails} name=${msg`Space for the cache`} result=${roomForCache(model, inputs)} />
    <${ResultDetails} name=${msg`In use`} result=${usedBytes(model, inputs)} />
    <p class="fact line on-line"><span>${msg`Most requests at once, with ${tokenCount(inputs.context)} each`}</span> <b class="number">${integer(value)}</b></p>
    <p class="fact line on-line"><span>${msg`Most tokens per request, with ${requestCount(inputs.requests)}`}</span> <b class="number">${integer(tokens.value)}</b></p>
    <p class="muted">${stop === "weights" ? msg`The weights leave no space.` : msg`With either of these numbers, the cache fits into the ${free} B that the weights leave free.`}
      ${" "}${msg`Other memory of a server is not counted: activations, code, partly filled blocks.`}
      ${inputs.gpu.shared && ` ${msg`This GPU shares its memory with the rest of the machine: macOS leaves it only a part unless you raise the limit.`}`}</p>
  </section>`;
}

export function Speed({ setup: { model, inputs } }) {
  if (!fits(model, inputs))
    return html`<section class="own-card stack box" aria-label=${msg`Speed`} data-names="speed">
      <h2>${msg`Best possible speed`}</h2>
      <p>${msg`There is no estimate, because this does not fit into the memory.`}</p>
    </section>`;
  const step = timePerToken(model, inputs);
  const [decode, prefill] = expected(model, inputs);
  return html`<section class="own-card stack box" aria-label=${msg`Speed`} data-names="speed">
    <h2>${msg`Best possible speed`}</h2>
    <${ResultDetails} name=${msg`Time per token`} result=${step} />
    <p class="fact line on-line"><span>${msg`Tokens per second for each request`}</span> <b class="number">${integer(1 / step.value)}</b> <em class="chip is-estimated">${msg`estimated`}</em></p>
    <${ResultDetails} name=${msg`Time to first token, with a prompt of ${tokenCount(inputs.context)}`} result=${timeToFirstToken(model, inputs.context, inputs)} />
    <p class="muted">${msg`A decode step (one new token per request) reads all weights and caches once, so its best time follows from memory bandwidth. Prefill (reading the prompts) multiplies every weight by every token, so its best time follows from the GPU’s peak (its largest arithmetic speed).`}
      ${" "}${peaksText(inputs)} ${msg`Peaks are those of dense matrices. No number here is measured.`}</p>
    ${decode.bound === "peak" && html`<p><b>${msg`With this many requests, the peak limits a decode step, not bandwidth: it takes at least ${milliseconds(1000 * decode.seconds)}.`}</b></p>`}
    ${prefill.bound === "bandwidth" && html`<p><b>${msg`Bandwidth limits the prefill of such a short prompt, not the peak: it takes at least ${milliseconds(1000 * prefill.seconds)}.`}</b></p>`}
  </section>`;
}

/** Says which peak limits each format. */
function peaksText({ gpu, weights, cache }) {
  const [products, attention] = [peakOfWeights(gpu, weights), peakOfAttention(gpu, cache)];
  const [of, per] = [products, attention].map(({ flops }) => short(flops, "FLOP/s"));
  const first = msg`Weights in ${weights.dtype} are multiplied at the peak for ${products.format}, ${of}.`;
  return products.flops === attention.flops
    ? first
    : `${first} ${msg`Attention over a cache in ${cache.dtype} has the peak for ${attention.format}, ${per}.`}`;
}
