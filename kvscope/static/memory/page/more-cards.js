/** Other numbers of KV heads, common wrong figures, and the sources of the sizes. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { bytesShort } from "../../shared/facts/format.js";
import { FigureLines } from "../../shared/figures/figure-lines.js";
import { sizeFigures } from "../../shared/figures/size-figures.js";
import { Derivation } from "../../shared/sizes/result-details.js";
import { msg, nodes } from "../../shared/words/msg.js";
import { variants } from "../heads.js";

const PERCENT = 100;

/** @param {{setup: import("../setup.js").Setup}} props */
export function Heads({ setup: { model, inputs } }) {
  const all = variants(model, inputs.cache);
  const most = Math.max(...all.map(({ bytes: { value } }) => value));
  return html`<section class="own-card stack box" aria-label=${msg`KV heads`} data-names="kv-heads">
    <h2>${msg`The same model with other KV heads`}</h2>
    <p class="muted">${msg`Bytes per token. Heads that share K and V need less cache.`}</p>
    ${all.map(
      ({
        name,
        text,
        heads,
        own,
        bytes: result,
      }) => html`<details key=${name} class="result variant ${own ? "is-own" : ""}">
        <summary><span class="result-name"><b>${name}</b>${own && html` <span class="chip is-cached">${msg`this model`}</span>`} ${text} ${heads !== null && msg`KV heads: ${heads}.`}</span>
          <b class="number is-cache">${bytesShort(result.value)}</b>
          <span class="variant-bar track" aria-hidden="true"><i style=${{ width: `${(PERCENT * result.value) / most}%` }}></i></span></summary>
        <${Derivation} result=${result} />
      </details>`,
    )}
  </section>`;
}

/** @param {{models: Object[], framed: boolean}} props */
export function Misprints({ models, framed }) {
  const calculations = useMemo(() => sizeFigures(models), [models]);
  return html`<section class="own-card stack box is-misprint" aria-label=${msg`Common wrong numbers`} data-names="wrong-numbers">
    <h2>${msg`Common wrong numbers`}</h2>
    <${FigureLines} calculations=${calculations} groups=${["memory", "formats"]} framed=${framed} />
    <p class="muted">${msg`This page uses GB = 10⁹ bytes, as data sheets do.`}</p>
  </section>`;
}

/** @param {{model: Object, gpu: Object, pasted: boolean}} props */
export function Sources({ model, gpu, pasted }) {
  const papers = [
    ["1706.03762", msg`attention`],
    ["1911.02150", msg`MQA`],
    ["2305.13245", msg`GQA`],
    ["2405.04434", msg`MLA`],
    ["2310.06825", msg`sliding window`],
    ["2309.06180", msg`shared prefix`],
  ].map(([id, name], at) => html`${at > 0 && ", "}<a href=${`https://arxiv.org/abs/${id}`}>${name}</a>`);
  return html`<section class="own-card stack box" aria-label=${msg`Sources`}>
    <h2>${msg`Sources of the sizes`}</h2>
    <${Links} name=${model.name} sources=${pasted ? [] : model.sources} none=${msg`The pasted config.`} />
    <${Links} name=${gpu.name} sources=${gpu.sources} none=${msg`Your own numbers.`} />
    ${gpu.flops_of && html`<p class="muted">${msg`Peak in 16 bits: ${gpu.flops_of}.`}</p>`}
    <p class="muted">${nodes`Formulas: ${papers}`}</p>
  </section>`;
}

function Links({ name, sources, none }) {
  return html`<div class="sources"><h3>${name}</h3>
    ${sources.length === 0 && html`<p>${none}</p>`}
    <ul>${sources.map((each) => html`<li key=${each}><a href=${each} rel="noopener">${new URL(each).hostname + new URL(each).pathname}</a></li>`)}</ul></div>`;
}
