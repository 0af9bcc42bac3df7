/** The cosine similarity of each pair of words. */

import { html } from "htm/preact";
import { fixed } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { msg } from "../../shared/words/msg.js";

/** @param {{words: string[], table: number[][]}} props */
export function CosineTable({ words, table }) {
  const text = (value) => (value === null ? "–" : fixed(value, 3));
  const shade = (value) => ({ "--share": `${Math.round(100 * Math.max(0, value))}%` });
  return html`<section class="own-card stack box" data-names="cosines" aria-label=${msg`Cosine similarities`}>
    <h2>${msg`Cosine similarity of each pair`} <${Badge} origin="computed" /></h2>
    <div class="across" tabindex="0" role="region" aria-label=${msg`Table of cosine similarities`}><table class="learn-table words-cosines">
      <thead><tr><td></td>${words.map((word) => html`<th key=${word} scope="col" class="is-number"><bdi>${word}</bdi></th>`)}</tr></thead>
      <tbody>${words.map(
        (word, row) =>
          html`<tr key=${word}><th scope="row"><bdi>${word}</bdi></th>${words.map(
            (other, column) =>
              html`<td key=${other} class="is-number" style=${row === column ? null : shade(table[row][column])}>${row === column ? "1" : text(table[row][column])}</td>`,
          )}</tr>`,
      )}</tbody>
    </table></div>
    <p class="muted">${msg`1 is the same direction, 0 a right angle. It is computed from all numbers of the rows, not from the picture.`}</p>
  </section>`;
}
