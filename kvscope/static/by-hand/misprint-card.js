/** Wrong numbers in the published examples, and which weights we chose ourselves. */

import { html } from "htm/preact";
import { under } from "../shared/log/root.js";
import { Table } from "../shared/ui/table.js";
import { msg } from "../shared/words/msg.js";
import { misprintOf, misprintsOf } from "./misprints.js";
import { cellText } from "./numbers.js";
import { calculationOf, cellLabel, numberIn } from "./table.js";

export function Misprints({ shown, actions, framed }) {
  const { example, table, plain } = shown;
  if (example === "a") {
    const target = framed ? "_blank" : null;
    return html`<section class="own-card stack box is-misprint is-of-other" aria-label=${msg`Misprints`}>
      <h2>${msg`Example B, head 2: published as 0.503, but its Q and K give 0.516`}</h2>
      <p>${msg`The published weights of “love” are 0.503 and 0.497. Check them with Q and K of the same example.`}${" "}
        <a target=${target} rel=${target && "noopener"} href=${under("/by-hand/b?cell=weights2:1:0&step=decode")}>${msg`Open example B at this cell`}</a></p>
    </section>`;
  }
  return html`<section class="own-card stack box is-misprint" aria-label=${msg`Misprints`}>
    <h2>${msg`Wrong numbers in the published example`}</h2>
    ${
      plain
        ? html`<${Table} name=${msg`Wrong numbers in the published example`} columns=${[{ head: msg`number` }, { head: msg`published` }, { head: msg`computed from its inputs` }]}
            rows=${misprintsOf(example)
              .filter((cell) => calculationOf(table, cell).op !== "copy")
              .map((cell) => ({
                head: html`<button type="button" class="link-button" onClick=${() => actions.select(cell)}>${cellLabel(table, cell)}</button>`,
                cells: [misprintOf(example, cell).printed, cellText(numberIn(table, cell))],
              }))} />`
        : html`<p>${msg`You changed numbers. Reset shows the published example again.`}</p>`
    }
    <p class="muted">${msg`Of the weights, only W_Q of head 1 was published. We chose the others, with two decimals, so that Q, K, V, the output and the logits match the published numbers.`}
      ${" "}${msg`The published “block output” is left out, because it does not follow from the other numbers.`}</p>
  </section>`;
}
