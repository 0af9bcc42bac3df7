/** A token's row of the embedding table: its numbers, the rows nearest to it, and a projection of them to a plane. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { fixed, integer, percent, significant, tokenLabel, tokenText } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Plane } from "../../shared/ui/plane.js";
import { Token } from "../../shared/ui/token.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { RowPicture } from "./row-picture.js";

const FIRST_NUMBERS = 6;
const BAR_PX = 90;
const LABEL_CHARS = 12;

/** @param {{embedding: Object, onOpen: (token: Object) => void}} props `embedding`: what `GET /api/embedding` gives */
export function Embedding({ embedding, onOpen }) {
  const { row, length, nearest, vocab, tied } = embedding;
  const more = Math.max(0, row.length - FIRST_NUMBERS);
  const numbers = row.slice(0, FIRST_NUMBERS).map(significant).join(", ");
  return html`<div class="stack">
    <p>${msg`This is the token's row in the embedding table [${integer(vocab)} × ${integer(row.length)}]. It was learned in training and is the same in every text.`} ${
      tied
        ? msg`The LM head uses the same table (tied weights): a token's logit is the dot product of its row and the last norm's output.`
        : msg`The LM head has a different table.`
    }</p>
    <${RowPicture} row=${row} />
    <p>${plural(
      more,
      form`${numbers}, … and ${integer(more)} more number; vector length ${significant(length)}.`,
      form`${numbers}, … and ${integer(more)} more numbers; vector length ${significant(length)}.`,
    )} ${msg`One number alone has no meaning; the direction of the whole row does.`}</p>
    <div class="embedding-near">
      <section aria-label=${msg`Nearest rows`}>
        <h3>${msg`Nearest of all ${integer(vocab)} rows`} <${Badge} origin="computed" /></h3>
        <${Nearest} nearest=${nearest} onOpen=${onOpen} />
      </section>
      ${nearest.length > 0 && html`<${Projection} embedding=${embedding} />`}
    </div>
  </div>`;
}

function Nearest({ nearest, onOpen }) {
  if (nearest.length === 0) return html`<p>${msg`A row of zeros has no direction, so no row is near it.`}</p>`;
  return html`<ol>
      ${nearest.map(
        (token) => html`<li key=${token.id}>
          <button type="button" aria-label=${msg`${tokenText(token)}, cosine ${fixed(token.cosine, 3)}: open its embedding`} onClick=${() => onOpen(token)}>
            <${Token} token=${token} />
          </button>
          <i style=${`width:${(BAR_PX * Math.max(0, token.cosine)).toFixed(1)}px`}></i> <span class="number">${fixed(token.cosine, 3)}</span>
        </li>`,
      )}
    </ol>
    <p>${msg`By cosine similarity: 1 is the same direction, 0 a right angle.`}</p>`;
}

function Projection({ embedding: { token, row, nearest, plane } }) {
  const { points, kept } = plane;
  const labels = useMemo(() => [token, ...nearest].map((each) => tokenLabel(each, LABEL_CHARS)), [token, nearest]);
  const [chosen] = labels;
  const near = nearest.length;
  const name = plural(
    near,
    form`Projection of ${chosen} and the ${near} row nearest to it`,
    form`Projection of ${chosen} and the ${near} rows nearest to it`,
  );
  return html`<figure>
    <${Plane} labels=${labels} points=${points} name=${name} hasChosen />
    <figcaption>${msg`A projection of ${integer(row.length)} dimensions to the 2 directions in which these ${integer(points.length)} rows differ most.`}
      ${" "}${msg`It keeps ${percent(kept)} of their variance: rows that are near each other here may be far apart in the table.`} <${Badge} origin="computed" /></figcaption>
  </figure>`;
}
