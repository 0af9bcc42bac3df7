/** How many rows are multiplied by W_Q, W_K and W_V in this step, with the cache and without: counted off the two passes. */

import { html } from "htm/preact";
import { withExponent } from "../shared/facts/format.js";

const LETTERS = ["Q", "K", "V"];

/** @param {{answer: Object, table: Object, moment: "prefill"|"decode"}} props */
export function Projections({ answer, table, moment }) {
  const { prefill, decode, without_cache: without, difference } = answer;
  const per = prefill.q.length > 1 ? " per head" : "";
  if (moment === "prefill") {
    return html`<section class="own-card stack box projections" aria-label="Projections">
      <h2>Projections in prefill: <b class="is-computed">${prefill.projections}</b>${per}</h2>
      <p class="muted">A projection is one row of X times one W. Every token of the prompt needs its three.</p>
      <${Grid} words=${table.words.slice(0, table.prompt)} first=${0} title="All at once" />
    </section>`;
  }
  return html`<section class="own-card stack box projections" aria-label="Projections">
    <h2>Projections in this step: <b class="is-computed">${decode.projections}</b> with the cache, <b class="is-again">${without.projections}</b> without${per}: ${without.projections - decode.projections} saved</h2>
    <p class="muted">A projection is one row of X times one W.</p>
    <div class="projection-grids row">
      <${Grid} words=${table.words} first=${table.prompt} title="With the cache" />
      <${Grid} words=${table.words} first=${0} title="Without: everything again" />
    </div>
    <p>Both ways were run: their outputs differ by at most ${difference === 0 ? "0" : withExponent(difference)}. Prefill made ${prefill.projections}.
      An old Q is not kept: it was used by its own row alone, and no later token asks for it.
      For the hundredth token it is still ${LETTERS.length}, against ${100 * LETTERS.length}.</p>
  </section>`;
}

/** `first`: the first row that is computed; the rows before are read. */
function Grid({ words, first, title }) {
  return html`<table class="projection-grid">
    <caption>${title}</caption>
    <thead><tr><td></td>${LETTERS.map((letter) => html`<th scope="col">${letter}</th>`)}</tr></thead>
    <tbody>
      ${words.map(
        (word, row) => html`<tr key=${row}>
          <th scope="row"><bdi>${word}</bdi></th>
          ${LETTERS.map((letter, at) => {
            const number = (row - first) * LETTERS.length + at + 1;
            if (row >= first) return html`<td class="is-computed">${number}</td>`;
            return letter === "Q"
              ? html`<td class="is-gone" aria-label="gone">–</td>`
              : html`<td class="is-kept">read</td>`;
          })}
        </tr>`,
      )}
    </tbody>
  </table>`;
}
