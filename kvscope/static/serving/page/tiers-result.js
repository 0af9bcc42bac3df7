/** The experiment with a tier: its figures, and an estimate of the same choice on a GPU. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { fixed } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { msg } from "../../shared/words/msg.js";
import { onGpu } from "../tiers.js";
import { FiguresResult } from "./figures-result.js";

const FIRST_GPU = "h100-sxm";
/** GB per second: PCIe 5.0 with 16 lanes. */
const FIRST_LINK = "64";

/** @param {{result: import("../results.js").Result, log: import("../workload-log.js").Workload, gpus: Gpu[]}} props */
export function TiersResult({ result, log, gpus }) {
  return html`<${FiguresResult} result=${result} log=${log} />
    ${gpus.length > 0 && html`<${OnGpu} model=${log.open.model} gpus=${gpus} />`}`;
}

/**
 * @typedef {{id: string, name: string, flops: number}} Gpu one of the Memory page; `flops`: its peak in 16 bits
 *
 * @param {{model: Object, gpus: Gpu[]}} props
 */
function OnGpu({ model, gpus }) {
  const [id, setId] = useState(FIRST_GPU);
  const [typed, setTyped] = useState(FIRST_LINK);
  const link = Number(typed);
  const gpu = gpus.find((each) => each.id === id) ?? gpus[0];
  return html`<section class="stack tight" aria-label=${msg`The same on a GPU`}>
    <h3>${msg`The same on a GPU`} <${Badge} origin="estimated" /></h3>
    <div class="result-inputs line wide">
      <label class="line"><span class="muted">${msg`GPU`}</span>
        <select class="field" value=${gpu.id} onChange=${(event) => setId(event.currentTarget.value)}>${gpus.map(({ id: each, name }) => html`<option key=${each} value=${each}>${name}</option>`)}</select></label>
      <label class="line"><span class="muted">${msg`its link to the host’s memory, in GB per second`}</span>
        <input class="field number" type="number" min="0" step="any" value=${typed} onInput=${(event) => setTyped(event.currentTarget.value)} /></label>
    </div>
    <p>${link > 0 && Number.isFinite(link) ? estimateText(onGpu(model, { flops: gpu.flops, link })) : msg`The link must be a number above 0.`}</p>
  </section>`;
}

/** @param {{computeUs: number, copyUs: number}} estimate */
function estimateText({ computeUs, copyUs }) {
  const [compute, copy] = [computeUs, copyUs].map((us) => fixed(us, 2));
  const less = copyUs < computeUs ? msg`Copying back is faster.` : msg`Computing again is faster.`;
  return msg`At these peaks, a token of this model takes ${compute} µs to compute, and its K and V in 16 bits take ${copy} µs to copy. ${less} Not counted: attention, which grows faster than the length, reading the weights once per pass, and what a GPU or a link does below its peak. A larger model computes more for each byte of K and V.`;
}
