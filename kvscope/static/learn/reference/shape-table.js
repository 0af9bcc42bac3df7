/** The shape of every tensor of a prefill and of a decode step. */

import { html } from "htm/preact";
import { bytesShort, integer } from "../../shared/facts/format.js";
import { lettersOf, productOf, sizeOf } from "../../shared/facts/shapes.js";
import { Badge } from "../../shared/ui/badge.js";
import { Table } from "../../shared/ui/table.js";
import { msg } from "../../shared/words/msg.js";
import { shapesOf } from "./shapes.js";

/** The page's symbols for the letters of shapes. */
const SYMBOLS = { D: "d", F: "d_ff", H: "h", Hkv: "h_kv", Dh: "d_head", V: "vocab", C: "context", N: "1" };
const IN_PREFILL = { ...SYMBOLS, T: "N", K: "N" };
const IN_DECODE = { ...SYMBOLS, T: "1", K: "T" };

/** @param {{model: Object, n: number, t: number, b: number}} props `b`: prompts computed together */
export function ShapeTable({ model, n, t, b }) {
  const prefill = { letters: lettersOf(model, { rows: n, keys: n }), symbols: IN_PREFILL };
  const decode = { letters: lettersOf(model, { rows: 1, keys: t }), symbols: IN_DECODE };
  return html`<section class="own-card stack box" aria-label=${msg`Shapes`}>
    <h2>${msg`The shape of every tensor`} <${Badge} origin="computed" /></h2>
    <p class="row wide muted small"><span><i class="swatch is-weights"></i>${msg`learned weights`}</span><span><i class="swatch is-cached"></i>${msg`stays in the KV cache`}</span><span><i class="swatch is-computed"></i>${msg`used in this step only`}</span></p>
    <${Table} name=${msg`Table of shapes`} kind="shapes"
      columns=${[{ head: msg`tensor` }, { head: msg`prefill` }, { head: msg`one decode step` }, { head: msg`its bytes` }]}
      groups=${shapesOf(model).map(({ id, name, rows }) => ({ key: id, head: name, rows: rows.map((row) => rowOf(row, { prefill, decode, batch: b, model })) }))}
    />
    <p class="muted learn-say">${msg`Bytes are of the decode step, as ${model.dtype}: ${model.element_bytes} B per number. Weights can be stored in fewer bytes; the cache holds K and V of each of the ${integer(model.layers)} layers.`}</p>
  </section>`;
}

/**
 * @param {import("./shapes.js").Row} row
 * @param {{prefill: Phase, decode: Phase, batch: number, model: Object}} of
 * @typedef {{letters: Object<string, number>, symbols: Object<string, string>}} Phase
 */
function rowOf({ id, name, axes, kind, says }, { prefill, decode, batch, model }) {
  const isBatched = batch > 1 && kind !== "weights";
  const sizesIn = ({ letters }) => [...(isBatched ? [batch] : []), ...axes.map((axis) => sizeOf(axis, letters))];
  const symbolsIn = ({ symbols }) => [
    ...(isBatched ? ["B"] : []),
    ...axes.map((axis) => axis.replaceAll("*", "·").replace(/\w+/g, (letter) => symbols[letter])),
  ];
  const shape = (phase) =>
    html`${bracketed(sizesIn(phase).map((size) => integer(size)))}<small>${bracketed(symbolsIn(phase))}</small>`;
  return {
    key: id,
    head: html`<i class=${`swatch is-${kind === "ids" ? "computed" : kind}`}></i>${name}${says && html` <small>${says}</small>`}`,
    cells: [shape(prefill), shape(decode), sizeText({ kind, count: productOf(sizesIn(decode)), model })],
  };
}

const bracketed = (axes) => (axes.length ? `[${axes.join(" × ")}]` : msg`scalar`);

function sizeText({ kind, count, model }) {
  if (kind === "weights") return msg`${integer(count)} numbers`;
  return kind === "ids" ? "" : bytesShort(count * model.element_bytes);
}
