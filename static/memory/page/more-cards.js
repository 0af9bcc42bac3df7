/** Around the numbers: other numbers of KV heads, figures that are printed otherwise, where the sizes are from. */

import { html } from "htm/preact";
import { bytes, bytesShort, integer, percent } from "../../shared/facts/format.js";
import { variants } from "../heads.js";
import { misprints, shareOf } from "../printed.js";
import { Working } from "./opened.js";

const PERCENT = 100;

/** @param {{understood: import("../asked.js").Understood}} props */
export function Heads({ understood: { model, inputs } }) {
  const all = variants(model, inputs.cache);
  const most = Math.max(...all.map(({ bytes: { value } }) => value));
  return html`<section class="own-card stack box" aria-label="KV heads">
    <h2>The same model with other KV heads</h2>
    <p class="muted">Bytes of a token. Heads that share K and V keep fewer of them.</p>
    ${all.map(
      ({
        name,
        says,
        heads,
        own,
        bytes: result,
      }) => html`<details key=${name} class=${`opened variant${own ? " is-own" : ""}`}>
        <summary><span class="opened-name"><b>${name}</b>${own && html` <span class="chip is-cached">as it is</span>`} ${says}${heads === null ? "" : ` · ${integer(heads)} KV`}</span>
          <b class="number is-cache">${bytesShort(result.value)}</b>
          <span class="variant-bar track" aria-hidden="true"><i style=${{ width: `${(PERCENT * result.value) / most}%` }}></i></span></summary>
        <${Working} result=${result} />
      </details>`,
    )}
  </section>`;
}

/** @param {{models: Object[]}} props */
export function Printed({ models }) {
  const nameOf = (id) => models.find((model) => model.id === id).name;
  return html`<section class="own-card stack box is-misprint" aria-label="Often printed otherwise">
    <h2>Often printed otherwise</h2>
    ${misprints(models).map(
      ({ model, of, printed, slip, right, because }) => html`<details key=${`${model}${of}${printed}`} class="opened">
        <summary><span class="opened-name">${nameOf(model)}, ${of}</span> <s class="number">${printed}</s> <b class="number is-cache">${bytesShort(right.value)}</b></summary>
        <p class="muted">${bytes(slip)}: ${because}</p>
        <${Working} result=${right} />
      </details>`,
    )}
    <p class="muted">fp32 → int8 leaves ${percent(shareOf("fp32", "int8"), 0)}, not a half. int8 and fp8 are the same size.
      Only GB = 10⁹ bytes are used here, as on the data sheets.</p>
  </section>`;
}

/** @param {{model: Object, gpu: Object, pasted: boolean}} props */
export function Sources({ model, gpu, pasted }) {
  return html`<section class="own-card stack box" aria-label="Sources">
    <h2>Where the sizes are from</h2>
    <${Links} name=${model.name} sources=${pasted ? [] : model.sources} none="The config that was pasted." />
    <${Links} name=${gpu.name} sources=${gpu.sources} none="" />
    <p class="muted">The formulas: <a href="https://arxiv.org/abs/1706.03762">attention</a>, <a href="https://arxiv.org/abs/1911.02150">MQA</a>,${" "}
      <a href="https://arxiv.org/abs/2305.13245">GQA</a>, <a href="https://arxiv.org/abs/2405.04434">MLA</a>,${" "}
      <a href="https://arxiv.org/abs/2310.06825">sliding window</a>, <a href="https://arxiv.org/abs/2309.06180">shared prefix</a>.</p>
  </section>`;
}

function Links({ name, sources, none }) {
  return html`<div class="sources"><h3>${name}</h3>
    ${sources.length === 0 && html`<p>${none}</p>`}
    <ul>${sources.map((each) => html`<li key=${each}><a href=${each} rel="noopener">${new URL(each).hostname + new URL(each).pathname}</a></li>`)}</ul></div>`;
}
