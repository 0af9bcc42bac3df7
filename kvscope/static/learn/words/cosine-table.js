/** The cosine similarity of each pair of words. */

import { html } from "htm/preact";
import { fixed } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Table } from "../../shared/ui/table.js";
import { msg } from "../../shared/words/msg.js";

/** @param {{words: string[], table: number[][]}} props */
export function CosineTable({ words, table }) {
  const text = (value) => (value === null ? "–" : fixed(value, 3));
  const shade = (value) => ({ "--share": `${Math.round(100 * Math.max(0, value))}%` });
  return html`<section class="own-card stack box" data-names="cosines" aria-label=${msg`Cosine similarities`}>
    <h2>${msg`Cosine similarity of each pair`} <${Badge} origin="computed" /></h2>
    <${Table} name=${msg`Table of cosine similarities`} kind="words-cosines" columns=${[{}, ...words.map((word) => ({ head: html`<bdi>${word}</bdi>` }))]}
      rows=${words.map((word, row) => ({
        key: word,
        head: html`<bdi>${word}</bdi>`,
        cells: table[row].map((value, column) =>
          row === column ? "1" : html`<td style=${shade(value)}>${text(value)}</td>`,
        ),
      }))}
    />
    <p class="muted">${msg`1 is the same direction, 0 a right angle. It is computed from all numbers of the rows, not from the picture.`}</p>
  </section>`;
}
