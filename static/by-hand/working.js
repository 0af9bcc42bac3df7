/** The panel of the cell in sight: what it is, its arithmetic, what comes before it and where it goes. */

import { html } from "htm/preact";
import { Figure, Fraction, Sum } from "./arithmetic.js";
import { misprintOf } from "./misprints.js";
import { neighboursOf } from "./neighbours.js";
import { cellText } from "./numbers.js";
import { kindOf, numberIn, sayCell, workingOf } from "./table.js";

const ORIGINS = {
  input: "an input",
  kept: "kept from before: KV cache",
  computed: "computed in this step",
  past: "computed before, not kept",
  masked: "masked",
};

/** `open`: all of it is in sight; on a small screen it is, once a number was asked for. */
export function Working({ open, shown, actions }) {
  const { table, moment, cell, hidden, plain, example } = shown;
  const kind = kindOf(table, cell, moment);
  const misprint = plain && misprintOf(example, cell);
  return html`<section class="own-card stack box working" aria-label="Working">
    <div class="row on-line wide">
      <h2>${sayCell(table, cell)}: <b class="number">${hidden.has(cell) ? "?" : cellText(numberIn(table, cell))}</b> <span class=${`chip is-${kind}`}>${ORIGINS[kind]}</span></h2>
      <p class="muted working-key push">solid outline: goes straight in · dashed: one step before</p>
      <button type="button" class="button" aria-expanded=${open} onClick=${() => actions.unfold(!open)}>${open ? "Less" : "Its arithmetic"}</button>
    </div>
    ${
      open &&
      html`<div class="working-body stack">
    <${Main} kind=${kind} shown=${shown} actions=${actions} />
    ${misprint && html`<p class="misprint-line"><b>Often printed as ${misprint.printed}.</b> ${misprint.reason}</p>`}
    <${Neighbours} shown=${shown} actions=${actions} />
    </div>`
    }
  </section>`;
}

function Main({ kind, shown, actions }) {
  const { table, cell } = shown;
  const working = workingOf(table, cell);
  const rest = { shown, actions };
  if (working.op === "given") {
    return html`<p>Nothing comes before it: it was learned, or chosen. Type another number into it, from −1,000 to 1,000, and all that depends on it follows.</p>`;
  }
  if (working.op === "mask") {
    return working.hidden
      ? html`<p>Its score <${Figure} name=${working.of} ...${rest} /> gives way to −∞, and e to the power of −∞ is 0: no share is left for what comes later. This is the causal mask.</p>`
      : html`<p>It comes no later: its score stays as it is, <${Figure} name=${working.of} ...${rest} />.</p>`;
  }
  if (working.op === "copy")
    return html`<p>The same number in another place: <${Figure} name=${working.of} ...${rest} /></p>`;
  if (kind === "masked") return html`<p>Nothing: the mask left −∞ of its score, and e to the power of −∞ is 0.</p>`;
  if (working.op === "softmax") return html`<${Fraction} name=${cell} working=${working} ...${rest} />`;
  return html`<div class="working-sum"><${Sum} name=${cell} boxed=${cell} ...${rest} /></div>`;
}

function Neighbours({ shown, actions }) {
  const { table, cell, moment } = shown;
  const { before, after, through } = neighboursOf(table, cell);
  const seen = [...before, after].filter((each) => each && kindOf(table, each, moment) !== "absent");
  if (seen.length === 0) return null;
  return html`<div class="neighbours grid">
    ${seen.map(
      (each) => html`<div key=${each}>
        <h3>${each === after ? "Where it goes" : "Before it"} <span>${sayCell(table, each)}</span></h3>
        ${
          kindOf(table, each, moment) === "masked"
            ? html`<p class="muted">masked: 0</p>`
            : html`<${Sum} name=${each} boxed=${each === after ? through : each} shown=${shown} actions=${actions} />`
        }
      </div>`,
    )}
  </div>`;
}
