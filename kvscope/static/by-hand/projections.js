/** How many rows this step multiplies by W_Q, W_K and W_V, with and without the cache: counted in the two passes. */

import { html } from "htm/preact";
import { withExponent } from "../shared/facts/format.js";
import { msg, nodes } from "../shared/words/msg.js";

const LETTERS = ["Q", "K", "V"];

/** @param {{answer: Object, table: Object, phase: "prefill"|"decode"}} props */
export function Projections({ answer, table, phase }) {
  const { prefill, decode, without_cache: without, difference } = answer;
  const perHead = prefill.q.length > 1;
  if (phase === "prefill") {
    const count = html`<b class="is-computed">${prefill.projections}</b>`;
    return html`<section class="own-card stack box projections" aria-label=${msg`Projections`}>
      <h2>${perHead ? nodes`Projections per head in prefill: ${count}` : nodes`Projections in prefill: ${count}`}</h2>
      <p class="muted">${msg`A projection multiplies one row by one W. Each token of the prompt needs three.`}</p>
      <${Grid} words=${table.words.slice(0, table.prompt)} first=${0} title=${msg`In one pass`} />
    </section>`;
  }
  const few = html`<b class="is-computed">${decode.projections}</b>`;
  const many = html`<b class="is-again">${without.projections}</b>`;
  const [cached, uncached] = [LETTERS.length, 100 * LETTERS.length];
  const most = difference === 0 ? "0" : withExponent(difference);
  return html`<section class="own-card stack box projections" aria-label=${msg`Projections`}>
    <h2>${
      perHead
        ? nodes`Projections per head in this step: ${few} with the cache, ${many} without it`
        : nodes`Projections in this step: ${few} with the cache, ${many} without it`
    }</h2>
    <p class="muted">${msg`A projection multiplies one row by one W.`}</p>
    <div class="projection-grids row">
      <${Grid} words=${table.words} first=${table.prompt} title=${msg`With the cache`} />
      <${Grid} words=${table.words} first=${0} title=${msg`Without the cache`} />
    </div>
    <p>${msg`The engine ran both; their outputs differ by at most ${most}. Prefill needed ${prefill.projections} projections.`}
      ${" "}${msg`The cache does not store Q, because no later row uses the Q of an earlier one.`}
      ${" "}${msg`The 100th token needs ${cached} with the cache and ${uncached} without it.`}</p>
  </section>`;
}

/** `first`: the first computed row; K and V of earlier rows are read from the cache. */
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
              ? html`<td class="is-past" aria-label=${msg`not stored`}>–</td>`
              : html`<td class="is-cached">${msg`read`}</td>`;
          })}
        </tr>`,
      )}
    </tbody>
  </table>`;
}
