/** A result that opens to its formula with its numbers; those that were worked out themselves open in turn. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { says, whole } from "./says.js";

/**
 * @param {{name: string, result: import("../arithmetic.js").Result, kind?: string, children?: *}} props `kind`: the class of
 *   its colour
 */
export function Opened({ name, result, kind = "", children = null }) {
  const exact = result.unit.startsWith("B") && result.value >= 1000 && result.unit !== "B/s";
  return html`<details class="opened">
    <summary>
      <span class="opened-name">${name}</span>
      <b class=${`number ${kind}`}>${says(result)}</b>
      ${result.estimated && html`<em class="chip is-estimated">estimated</em>`}
      ${exact && html`<small class="number">${integer(result.value)} B</small>`}
    </summary>
    <${Working} result=${result} />
    ${children}
  </details>`;
}

/** The formula, a number above each of its names. */
export function Working({ result }) {
  const [open, setOpen] = useState(null);
  const { op, terms, value, formula, assumes } = result;
  const list = op === "min" || op === "max";
  const chosen = terms.find(({ name, of }) => of && name === open);
  return html`<div class="working-out">
    <p class="working-line row">
      <span class="working-term small"><b class="number">${whole(value)}</b><small>${result.unit || "·"}</small></span>
      <span class="working-sign muted">=</span>
      ${list && html`<span class="working-sign muted">${op} of</span>`}
      ${op === null && html`<span class="working-formula muted">${formula}</span><span class="working-sign muted">with</span>`}
      ${terms.map(
        (term, at) => html`${at > 0 && html`<span class="working-sign muted">${op === null || list ? "," : op}</span>`}
          <${Term} term=${term} open=${open === term.name} toggle=${() => setOpen(open === term.name ? null : term.name)} />`,
      )}
    </p>
    ${chosen && html`<${Working} key=${chosen.name} result=${chosen.of} />`}
    ${assumes && html`<ul class="assumes muted small">${assumes.map((each) => html`<li key=${each}>${each}</li>`)}</ul>`}
  </div>`;
}

function Term({ term: { name, value, of }, open, toggle }) {
  const number = whole(value);
  const inside = html`<b class="number">${number}</b><small>${name === number ? "" : name}</small>`;
  if (!of) return html`<span class="working-term small">${inside}</span>`;
  return html`<button type="button" class="working-term small" aria-expanded=${open} onClick=${toggle}>${inside}</button>`;
}
