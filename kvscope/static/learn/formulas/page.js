/** A sheet of formulas with the numbers of one model, to read and to print. */

import { html } from "htm/preact";
import { under } from "../../shared/log/root.js";
import { quantity } from "../../shared/sizes/quantity.js";
import { Derivation } from "../../shared/sizes/result-details.js";
import { shapeOf } from "../../shared/sizes/shape-of.js";
import { Badge } from "../../shared/ui/badge.js";
import { msg } from "../../shared/words/msg.js";
import { Frame } from "../parts/frame.js";
import { NumberField } from "../parts/number-field.js";
import { useAddress } from "../parts/use-address.js";
import { useNumbers } from "../parts/use-numbers.js";
import { useReadiness } from "../parts/use-readiness.js";
import { useRecording } from "../parts/use-recording.js";
import { describable, described } from "../reference/described.js";
import { ModelChoice } from "../reference/model-choice.js";
import { SymbolTable } from "../reference/symbol-table.js";
import { layerFormulas, sizeFormulas } from "./formulas.js";

const FIRST = { model: "", n: "1000", k: "200", b: "1" };
const FIELDS = {
  n: { name: msg`Prompt tokens`, least: 1, most: 1_000_000, first: 1000 },
  k: { name: msg`New tokens`, least: 1, most: 1_000_000, first: 200 },
  b: { name: msg`Requests`, least: 1, most: 4096, first: 1 },
};
/** The GPU whose bandwidth and peak the times take. */
const GPU = "h100-sxm";
// Not language: a name.
const ARCHIVE = "arXiv:";

/** @param {{known: Object, client: Object, theme: string, setTheme: Function}} props */
export function Page({ known, client, theme, setTheme }) {
  const [texts, put] = useAddress(FIRST);
  const { values, problems } = useNumbers(texts, FIELDS);
  const readiness = useReadiness(client);
  const recording = useRecording(known.session);
  const running = readiness.model ?? recording.run?.open.model ?? null;
  const choices = describable(known.models);
  const choice = choices.find(({ id }) => id === texts.model);
  const model = choice ? described(choice) : running;
  const gpu = known.gpus.find(({ id }) => id === GPU);
  const field = (id, label) =>
    html`<${NumberField} id=${id} ...${FIELDS[id]} label=${label} text=${texts[id]} value=${values[id]} problem=${problems[id]} put=${(text) => put(id, text)} />`;
  return html`<${Frame}
    id="formulas" beside=${known.beside} theme=${theme} setTheme=${setTheme}
    title=${model ? msg`Formulas with the numbers of ${model.name}` : msg`Formulas with the numbers of a model`}
    lead=${msg`The formulas that this page and its engine compute with. A number with a line below it opens to its own formula.`}
  >
    <${ModelChoice} choices=${choices} id=${texts.model} running=${running} put=${(id) => put("model", id)} />
    <div class="learn-fields grid">${field("n", msg`N, prompt tokens`)}${field("k", msg`K, new tokens`)}${field("b", msg`B, requests at a time`)}</div>
    ${
      model
        ? html`<${Layer} model=${model} />
          <${Sizes} model=${choice ?? shapeOf(model)} run=${{ ...values, gpu }} />
          <${SymbolTable} model=${model} run=${{ n: values.n, t: values.n + values.k, b: values.b }} />`
        : html`<p role="status">${msg`The formulas appear when the model is ready. ${readiness.message}`}</p>`
    }
  <//>`;
}

function Layer({ model }) {
  return html`<section class="own-card stack box" aria-label=${msg`A layer, and the next token`}>
    <h2>${msg`A layer, and the next token`}</h2>
    ${layerFormulas(model).map(
      ({ id, name, formula, says, paper, place }) => html`<div key=${id} class="formula stack tight">
        <h3>${name}</h3>
        <p class="mono breaks">${formula}</p>
        <p class="muted learn-say">${says} <${Source} paper=${paper} place=${place} /></p>
      </div>`,
    )}
  </section>`;
}

function Sizes({ model, run }) {
  return html`<section class="own-card stack box" aria-label=${msg`Sizes, work and time`}>
    <h2>${msg`Sizes, work and time`} <${Badge} origin="computed" /></h2>
    <p class="muted learn-say">${msg`Weights and cache in 16 bits. The times are estimated: the best that one ${run.gpu.name} could do, by its bandwidth and its peak.`}</p>
    <div class="formula-sizes grid">
    ${sizeFormulas(model, run).map(
      ({ id, name, result, paper, place }) => html`<div key=${id} class="formula stack tight">
        <h3>${name}: <b class="number word-cached">${quantity(result)}</b> ${result.estimated && html`<${Badge} origin="estimated" />`}</h3>
        <${Derivation} result=${result} />
        <p class="muted"><${Source} paper=${paper} place=${place} /></p>
      </div>`,
    )}
    </div>
  </section>`;
}

function Source({ paper, place }) {
  return html`<a href=${under(place)}>${msg`Shown here`}</a>${paper && html` · <a href=${`https://arxiv.org/abs/${paper}`} rel="noopener">${ARCHIVE}${paper}</a>`}`;
}
