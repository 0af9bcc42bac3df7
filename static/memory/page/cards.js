/** What the numbers come out at: bytes, what fits, how fast it could be. Each opens to its arithmetic. */

import { html } from "htm/preact";
import { integer, milliseconds } from "../../shared/facts/format.js";
import { expected } from "../curves.js";
import { fits, mostRequests, mostTokens, roomForCache, usedBytes } from "../fits.js";
import { batchBytes, cacheBytesPerToken, layerBytesPerToken, requestBytes, weightBytes } from "../sizes.js";
import { timePerToken, timeToFirstToken } from "../speed.js";
import { Opened } from "./opened.js";

/** @param {{understood: import("../asked.js").Understood}} props */
export function Bytes({ understood: { model, inputs } }) {
  const { cache, context } = inputs;
  return html`<section class="own-card stack box" aria-label="Bytes">
    <h2>Bytes of KV cache</h2>
    <${Opened} name="a token in one layer" result=${layerBytesPerToken(model, cache)} kind="is-cache" />
    <${Opened} name="a token" result=${cacheBytesPerToken(model, cache)} kind="is-cache" />
    <${Opened} name=${`a request of ${integer(context)} tokens`} result=${requestBytes(model, context, cache)} kind="is-cache" />
    <${Opened} name=${`the batch of ${integer(inputs.requests)}`} result=${batchBytes(model, inputs, cache)} kind="is-cache" />
    ${model.window && html`<p class="muted">${integer(model.window.layers.length)} of ${integer(model.layers)} layers keep the newest ${integer(model.window.tokens)} tokens only.</p>`}
  </section>`;
}

export function Fits({ understood: { model, inputs } }) {
  const { room, value, stop } = mostRequests(model, inputs);
  const tokens = mostTokens(model, inputs);
  const left = stop !== "weights";
  return html`<section class="own-card stack box" aria-label="What fits">
    <h2>What fits, weights included</h2>
    <${Opened} name="weights" result=${weightBytes(model, inputs.weights)} kind="is-weights" />
    <${Opened} name="room for cache" result=${roomForCache(model, inputs)} />
    <${Opened} name="in use" result=${usedBytes(model, inputs)} />
    <p class="fact line on-line"><span>most people, ${integer(inputs.context)} tokens each</span> <b class="number">${integer(value)}</b></p>
    <p class="fact line on-line"><span>most tokens each, ${integer(inputs.requests)} at once</span> <b class="number">${integer(tokens.value)}</b></p>
    <p class="muted">${left ? `The largest numbers whose cache is not more than the room, ${integer(room.value)} B.` : "The weights leave no room."}${" "}What a server keeps beside them is not counted: activations, its own code, blocks that are not full.</p>
  </section>`;
}

export function Speed({ understood: { model, inputs } }) {
  if (!fits(model, inputs))
    return html`<section class="own-card stack box" aria-label="Speed">
      <h2>How fast at best</h2>
      <p>No time is estimated: this does not fit into ${inputs.gpus === 1 ? "the one GPU" : `the ${integer(inputs.gpus)} GPUs`}.</p>
    </section>`;
  const step = timePerToken(model, inputs);
  const [decode, prefill] = expected(model, inputs);
  return html`<section class="own-card stack box" aria-label="Speed">
    <h2>How fast at best</h2>
    <${Opened} name="time per token" result=${step} />
    <p class="fact line on-line"><span>tokens a second for each</span> <b class="number">${integer(1 / step.value)}</b> <em class="chip is-estimated">estimated</em></p>
    <${Opened} name=${`time to the first token of a prompt of ${integer(inputs.context)}`} result=${timeToFirstToken(model, inputs.context, inputs)} />
    <p class="muted">Each step reads all weights and caches once: bandwidth bounds it. Prefill multiplies every weight by every token: the peak
      bounds it (${inputs.gpu.flops_of}, whatever the dtype here). Nothing of this is measured.</p>
    ${decode.bound === "the peak" && html`<p><b>With so many at once the peak bounds a step</b> before bandwidth does: at best ${milliseconds(1000 * decode.seconds)}.</p>`}
    ${prefill.bound === "bandwidth" && html`<p><b>So short a prompt is bound by bandwidth</b> before the peak: reading weights and cache takes ${milliseconds(1000 * prefill.seconds)} at best.</p>`}
  </section>`;
}
