/** What is said elsewhere of these examples and is not so, and which of their numbers were chosen here. */

import { html } from "htm/preact";
import { under } from "../shared/log/root.js";
import { misprintOf, misprintsOf } from "./misprints.js";
import { cellText } from "./numbers.js";
import { numberIn, sayCell, workingOf } from "./table.js";

export function Misprints({ shown, actions, framed }) {
  const { example, table, plain } = shown;
  if (example === "a") {
    const target = framed ? "_blank" : null;
    return html`<section class="own-card stack box is-misprint" aria-label="Misprints">
      <h2>Example B, head 2: often printed 0.503, its own Q and K give 0.516</h2>
      <p>There the weights of “love” are often printed as 0.503 and 0.497. Work them out from the Q and K beside them.${" "}
        <a target=${target} rel=${target && "noopener"} href=${under("/by-hand/b?cell=weights2:1:0&step=decode")}>Open example B at this cell</a></p>
    </section>`;
  }
  return html`<section class="own-card stack box is-misprint" aria-label="Misprints">
    <h2>Printed otherwise elsewhere</h2>
    ${
      plain
        ? html`<table class="misprints">
            <thead><tr><th scope="col">number</th><th scope="col">printed</th><th scope="col">its own numbers give</th></tr></thead>
            <tbody>${misprintsOf(example)
              .filter((cell) => workingOf(table, cell).op !== "copy")
              .map(
                (cell) => html`<tr key=${cell}>
                <td><button type="button" class="link-button" onClick=${() => actions.select(cell)}>${sayCell(table, cell)}</button></td>
                <td class="number">${misprintOf(example, cell).printed}</td>
                <td class="number">${cellText(numberIn(table, cell))}</td>
              </tr>`,
              )}</tbody>
          </table>`
        : html`<p>Numbers were changed: Reset brings back those that were printed.</p>`
    }
    <p class="muted">Of its weights only W_Q of head 1 was ever printed. The others were chosen here, with two decimals, so that Q, K, V, the
      output and the logits come out as printed. A “block output” is printed with it, too: it follows from nothing beside it, and is left out.</p>
  </section>`;
}
