/** The experiment with a tier: its figures, and an estimate of the same choice on a GPU of the reader’s. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { fixed } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { msg } from "../../shared/words/msg.js";
import { onGpu } from "../tiers.js";
import { FiguresResult } from "./figures-result.js";

/** An H100 SXM, dense 16 bits, and PCIe 5.0 with 16 lanes (the Memory page has other GPUs). */
const FIRST = { tflops: "989", link: "64" };
const INPUTS = [
  { id: "tflops", label: msg`A GPU computes, in TFLOP per second` },
  { id: "link", label: msg`its link to the host’s memory, in GB per second` },
];

/** @param {{result: import("../results.js").Result, log: import("../workload-log.js").Workload}} props */
export function TiersResult({ result, log }) {
  const [given, setGiven] = useState(FIRST);
  const numbers = { tflops: Number(given.tflops), link: Number(given.link) };
  const valid = Object.values(numbers).every((number) => number > 0 && Number.isFinite(number));
  return html`<${FiguresResult} result=${result} log=${log} />
    <section class="stack tight" aria-label=${msg`The same on a GPU`}>
      <h3>${msg`The same on a GPU`} <${Badge} origin="estimated" /></h3>
      <div class="result-inputs line wide">${INPUTS.map(
        ({ id, label }) => html`<label key=${id} class="line"><span class="muted">${label}</span>
          <input class="field number" type="number" min="0" step="any" value=${given[id]} onInput=${(event) => setGiven({ ...given, [id]: event.currentTarget.value })} /></label>`,
      )}</div>
      <p>${valid ? estimateText(onGpu(log.open.model, numbers)) : msg`Both must be numbers above 0.`}</p>
    </section>`;
}

/** @param {{computeUs: number, copyUs: number}} estimate */
function estimateText({ computeUs, copyUs }) {
  const [compute, copy] = [computeUs, copyUs].map((us) => fixed(us, 2));
  const less = copyUs < computeUs ? msg`Copying back is faster.` : msg`Computing again is faster.`;
  return msg`At these peaks, a token of this model takes ${compute} µs to compute, and its K and V in 16 bits take ${copy} µs to copy. ${less} Both grow with the number of tokens, so the length hardly changes this; a larger model computes more for each byte of K and V.`;
}
