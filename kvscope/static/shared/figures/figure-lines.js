/** Printed figures beside the right ones, each with a link to its calculation. */

import { html } from "htm/preact";
import { under } from "../log/root.js";
import { decimal, quantity } from "../sizes/quantity.js";
import { msg, translated } from "../words/msg.js";
import { FIGURES, figureAddress } from "./figures.js";

/**
 * @param {{calculations: Object<string, import("./size-figures.js").Calculation>, groups: string[], inputs?: Object<string, string>,
 *   framed?: boolean}} props `groups`: those whose wrong figures are shown; `inputs`: of the page with the calculations; `framed`:
 *   links open a new tab
 */
export function FigureLines({ calculations, groups, inputs = {}, framed = false }) {
  const shown = FIGURES.filter(({ id, kind, group }) => kind === "wrong" && groups.includes(group) && calculations[id]);
  const target = framed ? { target: "_blank", rel: "noopener" } : {};
  return html`<ul class="stack">${shown.map(
    ({ id, name, text }) => html`<li key=${id}>
      <span>${msg`printed:`} <s class="word-bad">${translated(name)}</s></span> · <span>${msg`right:`} <b class="number word-cached">${rightOf(calculations[id])}</b></span>
      <p class="muted">${translated(text)} <a ...${target} href=${under(figureAddress(id, inputs))}>${msg`Calculate`}</a></p>
    </li>`,
  )}</ul>`;
}

/** @returns {string} the right figure with the calculation's own inputs */
export function rightOf(calculation) {
  return figureText(calculation.of(numbersOf(calculation.first)).right);
}

/** @returns {string} a result as texts print it */
export function figureText(result) {
  return result.unit === "" ? decimal(result.value) : quantity(result);
}

/** Returns the inputs as numbers, where they are some. */
const numbersOf = (texts) =>
  Object.fromEntries(
    Object.entries(texts).map(([id, text]) => [id, text !== "" && Number.isFinite(Number(text)) ? Number(text) : text]),
  );
