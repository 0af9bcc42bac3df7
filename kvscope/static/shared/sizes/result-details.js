/** A result that opens to its formula with numbers. A number that is itself a result opens in turn. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { integer } from "../facts/format.js";
import { msg } from "../words/msg.js";
import { quantity, whole } from "./quantity.js";
import { unitLabel } from "./units.js";

/**
 * @param {{name: string, result: import("./arithmetic.js").Result, kind?: string, children?: *}} props `kind`: a
 *   class for its colour
 */
export function ResultDetails({ name, result, kind = "", children = null }) {
  const exact = result.unit.startsWith("B") && result.value >= 1000 && result.unit !== "B/s";
  return html`<details class="result">
    <summary>
      <span class="result-name">${name}</span>
      <b class=${`number ${kind}`}>${quantity(result)}</b>
      ${result.estimated && html`<em class="chip is-estimated">${msg`estimated`}</em>`}
      ${exact && html`<small class="number">${integer(result.value)} B</small>`}
    </summary>
    <${Derivation} result=${result} />
    ${children}
  </details>`;
}

/**
 * The formula, with a number above each name.
 *
 * @param {{result: import("./arithmetic.js").Result, write?: (value: number) => string}} props `write`: writes the numbers
 */
export function Derivation({ result, write = whole }) {
  const [open, setOpen] = useState(null);
  const { op, terms, value, formula, assumes } = result;
  const list = op === "min" || op === "max";
  const chosen = terms.find(({ name, of }) => of && name === open);
  return html`<div class="derivation">
    <p class="derivation-line row">
      <span class="derivation-term small"><b class="number">${write(value)}</b><small>${unitLabel(result.unit) || "·"}</small></span>
      <span class="derivation-sign muted">=</span>
      ${list && html`<span class="derivation-sign muted">${op === "min" ? msg`minimum of` : msg`maximum of`}</span>`}
      ${op === null && html`<span class="derivation-formula muted">${formula}</span><span class="derivation-sign muted">${msg`with`}</span>`}
      ${terms.map(
        (
          term,
          at,
        ) => html`${at > 0 && html`<span class="derivation-sign muted">${op === null || list ? "," : op}</span>`}
          <${Term} term=${term} write=${write} open=${open === term.name} toggle=${() => setOpen(open === term.name ? null : term.name)} />`,
      )}
    </p>
    ${chosen && html`<${Derivation} key=${chosen.name} result=${chosen.of} write=${write} />`}
    ${assumes && html`<ul class="assumes muted small">${assumes.map((each) => html`<li key=${each}>${each}</li>`)}</ul>`}
  </div>`;
}

function Term({ term: { name, value, of }, write, open, toggle }) {
  const number = write(value);
  const inside = html`<b class="number">${number}</b><small>${name === number ? "" : name}</small>`;
  if (!of) return html`<span class="derivation-term small">${inside}</span>`;
  return html`<button type="button" class="derivation-term small" aria-expanded=${open} onClick=${toggle}>${inside}</button>`;
}
