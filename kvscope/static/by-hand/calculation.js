/** The panel of the selected cell: its kind, its calculation, and the calculations before and after it. */

import { html } from "htm/preact";
import { msg, nodes } from "../shared/words/msg.js";
import { Figure, Fraction, RoundedFirst, Sum } from "./arithmetic.js";
import { misprintOf } from "./misprints.js";
import { neighboursOf } from "./neighbours.js";
import { cellText } from "./numbers.js";
import { calculationOf, cellLabel, kindOf, numberIn } from "./table.js";

const ORIGINS = {
  input: msg`input`,
  cached: msg`read from the KV cache`,
  computed: msg`computed in this step`,
  past: msg`computed earlier, not stored`,
  masked: msg`masked`,
};

/** `open`: whether the whole panel is visible; on a small screen, only after a cell is selected. */
export function Calculation({ open, shown, actions }) {
  const { table, phase, cell, hidden, plain, example } = shown;
  const kind = kindOf(table, cell, phase);
  const misprint = plain && misprintOf(example, cell);
  return html`<section class="own-card stack box calculation" aria-label=${msg`Calculation`}>
    <div class="row on-line wide">
      <h2>${cellLabel(table, cell)}: <b class="number">${hidden.has(cell) ? "?" : cellText(numberIn(table, cell))}</b> <span class="chip is-${kind}">${ORIGINS[kind]}</span></h2>
      <p class="muted calculation-key push">${msg`solid outline: operand · dashed outline: operand of an operand`}</p>
      <button type="button" class="button" aria-expanded=${open} onClick=${() => actions.unfold(!open)}>${open ? msg`Show less` : msg`Show the calculation`}</button>
    </div>
    ${
      open &&
      html`<div class="calculation-body stack">
    <${Main} kind=${kind} shown=${shown} actions=${actions} />
    ${misprint && html`<p class="misprint-line"><b>${msg`Published as ${misprint.printed}.`}</b> ${misprint.reason}</p>`}
    <${Neighbours} shown=${shown} actions=${actions} />
    </div>`
    }
  </section>`;
}

function Main({ kind, shown, actions }) {
  const { table, cell } = shown;
  const calculation = calculationOf(table, cell);
  const rest = { shown, actions };
  if (calculation.op === "given") {
    return html`<p>${msg`This number is an input. Type another number from −1,000 to 1,000, and the page updates every number that depends on it.`}</p>`;
  }
  if (calculation.op === "mask") {
    const score = html`<${Figure} name=${calculation.of} ...${rest} />`;
    return html`<p>${
      calculation.hidden
        ? nodes`The causal mask replaces the score ${score} with −∞. Because e to the power of −∞ is 0, a later token gets no weight.`
        : nodes`This token does not come later, so the mask leaves its score unchanged: ${score}.`
    }</p>`;
  }
  if (calculation.op === "copy") {
    const same = html`<${Figure} name=${calculation.of} ...${rest} />`;
    return html`<p>${nodes`This is the same number in another place: ${same}`}</p>`;
  }
  if (kind === "masked") {
    return html`<p>${msg`This weight is 0: the mask sets its score to −∞, and e to the power of −∞ is 0.`}</p>`;
  }
  if (calculation.op === "softmax") return html`<${Fraction} name=${cell} calculation=${calculation} ...${rest} />`;
  return html`<div class="calculation-sum"><${Sum} name=${cell} boxed=${cell} ...${rest} /></div><${RoundedFirst} name=${cell} shown=${shown} />`;
}

function Neighbours({ shown, actions }) {
  const { table, cell, phase } = shown;
  const { before, after, through } = neighboursOf(table, cell);
  const seen = [...before, after].filter((each) => each && kindOf(table, each, phase) !== "absent");
  if (seen.length === 0) return null;
  return html`<div class="neighbours grid">
    ${seen.map(
      (each) => html`<div key=${each}>
        <h3>${each === after ? msg`Used by` : msg`Calculated before`} <span>${cellLabel(table, each)}</span></h3>
        ${
          kindOf(table, each, phase) === "masked"
            ? html`<p class="muted">${msg`masked: 0`}</p>`
            : html`<${Sum} name=${each} boxed=${each === after ? through : each} shown=${shown} actions=${actions} />`
        }
      </div>`,
    )}
  </div>`;
}
