/** The shape of every tensor of a prefill and of a decode step. */

import { html } from "htm/preact";
import { bytesShort, integer } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { msg } from "../../shared/words/msg.js";
import { countOf, numbersOf, shapesOf, sizesOf } from "./shapes.js";

/** @param {{model: Object, n: number, t: number, b: number}} props */
export function ShapeTable({ model, n, t, b }) {
  const sizes = sizesOf(model, { n, t });
  return html`<section class="own-card stack box" aria-label=${msg`Shapes`}>
    <h2>${msg`The shape of every tensor`} <${Badge} origin="computed" /></h2>
    <p class="row wide muted small"><span><i class="swatch is-weights"></i>${msg`learned weights`}</span><span><i class="swatch is-cached"></i>${msg`stays in the KV cache`}</span><span><i class="swatch is-computed"></i>${msg`used in this step only`}</span></p>
    <div class="across" tabindex="0" role="region" aria-label=${msg`Table of shapes`}><table class="learn-table shapes">
      <thead><tr><th scope="col">${msg`tensor`}</th><th scope="col" class="is-number">${msg`prefill`}</th><th scope="col" class="is-number">${msg`one decode step`}</th><th scope="col" class="is-number">${msg`its bytes`}</th></tr></thead>
      ${shapesOf(model).map(
        ({ id, name, rows }) => html`<tbody key=${id}>
          <tr><th scope="rowgroup" colspan="4">${name}</th></tr>
          ${rows.map((row) => html`<${Line} key=${row.id} row=${row} sizes=${sizes} batch=${b} model=${model} />`)}
        </tbody>`,
      )}
    </table></div>
    <p class="muted learn-say">${msg`Bytes are of the decode step, as ${model.dtype}: ${model.element_bytes} B per number. Weights can be stored in fewer bytes; the cache holds K and V of each of the ${integer(model.layers)} layers.`}</p>
  </section>`;
}

function sizeOf({ kind, count, model }) {
  if (kind === "weights") return msg`${integer(count)} numbers`;
  return kind === "ids" ? "" : bytesShort(count * model.element_bytes);
}

function Line({ row: { name, prefill, decode, kind, says }, sizes, batch, model }) {
  const batched = kind === "weights" ? 1 : batch;
  const [before, now] = [prefill, decode].map((shape) => numbersOf(shape, sizes, batched));
  const symbols = (shape) => (batched > 1 ? ["B", ...shape] : shape);
  const text = (axes) =>
    axes.length
      ? `[${axes.map((axis) => (typeof axis === "number" ? integer(axis) : axis)).join(" × ")}]`
      : msg`scalar`;
  return html`<tr>
    <th scope="row"><i class=${`swatch is-${kind === "ids" ? "computed" : kind}`}></i>${name}${says && html` <small>${says}</small>`}</th>
    <td class="is-number">${text(before)}<small>${text(symbols(prefill))}</small></td>
    <td class="is-number">${text(now)}<small>${text(symbols(decode))}</small></td>
    <td class="is-number">${sizeOf({ kind, count: countOf(now), model })}</td>
  </tr>`;
}
