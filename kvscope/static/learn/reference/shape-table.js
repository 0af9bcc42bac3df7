/** The shape of every tensor of a prefill and of a decode step. */

import { html } from "htm/preact";
import { bytesShort, integer } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Table } from "../../shared/ui/table.js";
import { msg } from "../../shared/words/msg.js";
import { countOf, numbersOf, shapesOf, sizesOf } from "./shapes.js";

/** @param {{model: Object, n: number, t: number, b: number}} props */
export function ShapeTable({ model, n, t, b }) {
  const sizes = sizesOf(model, { n, t });
  return html`<section class="own-card stack box" aria-label=${msg`Shapes`}>
    <h2>${msg`The shape of every tensor`} <${Badge} origin="computed" /></h2>
    <p class="row wide muted small"><span><i class="swatch is-weights"></i>${msg`learned weights`}</span><span><i class="swatch is-cached"></i>${msg`stays in the KV cache`}</span><span><i class="swatch is-computed"></i>${msg`used in this step only`}</span></p>
    <${Table} name=${msg`Table of shapes`} kind="shapes"
      columns=${[{ head: msg`tensor` }, { head: msg`prefill` }, { head: msg`one decode step` }, { head: msg`its bytes` }]}
      groups=${shapesOf(model).map(({ id, name, rows }) => ({ key: id, head: name, rows: rows.map((row) => rowOf(row, { sizes, batch: b, model })) }))}
    />
    <p class="muted learn-say">${msg`Bytes are of the decode step, as ${model.dtype}: ${model.element_bytes} B per number. Weights can be stored in fewer bytes; the cache holds K and V of each of the ${integer(model.layers)} layers.`}</p>
  </section>`;
}

function sizeOf({ kind, count, model }) {
  if (kind === "weights") return msg`${integer(count)} numbers`;
  return kind === "ids" ? "" : bytesShort(count * model.element_bytes);
}

/** @param {import("./shapes.js").Row} row @param {{sizes: Object, batch: number, model: Object}} of */
function rowOf({ id, name, prefill, decode, kind, says }, { sizes, batch, model }) {
  const batched = kind === "weights" ? 1 : batch;
  const [before, now] = [prefill, decode].map((shape) => numbersOf(shape, sizes, batched));
  const symbols = (shape) => (batched > 1 ? ["B", ...shape] : shape);
  const text = (axes) =>
    axes.length
      ? `[${axes.map((axis) => (typeof axis === "number" ? integer(axis) : axis)).join(" × ")}]`
      : msg`scalar`;
  return {
    key: id,
    head: html`<i class=${`swatch is-${kind === "ids" ? "computed" : kind}`}></i>${name}${says && html` <small>${says}</small>`}`,
    cells: [
      html`${text(before)}<small>${text(symbols(prefill))}</small>`,
      html`${text(now)}<small>${text(symbols(decode))}</small>`,
      sizeOf({ kind, count: countOf(now), model }),
    ],
  };
}
