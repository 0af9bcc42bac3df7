/** A token's learned row: its numbers, the rows nearest to it of the whole vocabulary, and a plane through them. */

import { html } from "htm/preact";
import { counted, fixed, integer, percent, significant, tokenText } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Token } from "../../shared/ui/token.js";
import { Plane } from "./plane.js";
import { RowPicture } from "./row-picture.js";

const FIRST_NUMBERS = 6;
const BAR_PX = 90;

/** @param {{found: Object, onOpen: (token: Object) => void}} props `found`: what `GET /api/embedding` gives */
export function Embedding({ found, onOpen }) {
  const { row, length, nearest, vocab, tied } = found;
  return html`<div class="stack">
    <p>Its row in the embedding table [${integer(vocab)} × ${integer(row.length)}], learned in training: all that the model has of it before
      it reads the text around it, and the same in every text. ${
        tied
          ? "The LM head is this same table (tied weights): a token’s logit is its row times the row that the last norm gives."
          : "The LM head has a table of its own."
      }</p>
    <${RowPicture} row=${row} />
    <p>${row.slice(0, FIRST_NUMBERS).map(significant).join(", ")}, … and ${counted(Math.max(0, row.length - FIRST_NUMBERS), "more number")}; length
      ${" "}${significant(length)}. No single number means anything by itself: what counts is which way the whole row points.</p>
    <div class="embedding-near">
      <section aria-label="Nearest rows">
        <h3>Nearest of all ${integer(vocab)} <${Badge} origin="computed" /></h3>
        <${Nearest} nearest=${nearest} onOpen=${onOpen} />
      </section>
      ${nearest.length > 0 && html`<${Projection} found=${found} />`}
    </div>
  </div>`;
}

function Nearest({ nearest, onOpen }) {
  if (nearest.length === 0) return html`<p>A row of zeros has no direction: no other is near it.</p>`;
  return html`<ol>
      ${nearest.map(
        (token) => html`<li key=${token.id}>
          <button type="button" aria-label=${`${tokenText(token)}, cosine ${fixed(token.cosine, 3)}: open its row`} onClick=${() => onOpen(token)}>
            <${Token} token=${token} />
          </button>
          <i style=${`width:${(BAR_PX * Math.max(0, token.cosine)).toFixed(1)}px`}></i> <span class="number">${fixed(token.cosine, 3)}</span>
        </li>`,
      )}
    </ol>
    <p>By cosine: 1 is the same direction, 0 a right angle.</p>`;
}

function Projection({ found: { token, row, nearest, plane } }) {
  const { points, kept } = plane;
  return html`<figure>
    <${Plane} tokens=${[token, ...nearest]} points=${points} />
    <figcaption>A projection: ${integer(row.length)} dimensions drawn in 2, the two along which these ${integer(points.length)} rows differ most.
      It keeps ${percent(kept)} of their variance, so what is near here may be far apart in the table. <${Badge} origin="computed" /></figcaption>
  </figure>`;
}
