/**
 * Exact values of a head and of a block (docs/frames.md, On demand): the model computes rows of Q, K and V, and the page's own module for
 * stored values computes what follows from them.
 */

import { blockOf, headOf } from "../../shared/log/stored-values.js";
import { msg } from "../../shared/words/msg.js";
import { Refused } from "../refused.js";
import { among } from "./bounds.js";
import { observe, withRowsBefore } from "./rows.js";
import { inModel, textBefore } from "./text.js";

/** Hook point by tensor, as kvscope/model/activations/step_values.py. */
export const QKV = { q: "attn.q_rot", k: "attn.k_rot", v: "attn.v" };
/** Hook points that level "block" adds. */
const OF_BLOCK = ["resid_in", "attn.normed", "attn.change", "mlp.normed", "mlp.gate", "mlp.raised", "mlp.change"];
/** What does not follow from these exactly: rows before rotation, and what changes of the run replaced. */
const DIRECT = ["attn.q", "attn.k", "attn.mixed", "resid_out"];
/** What is before a norm of its own, and the value of the same shape after it. */
const RAW = {
  qk_norm: { "attn.q_raw": "attn.q", "attn.k_raw": "attn.k" },
  post_norms: { "attn.raw_change": "attn.change", "mlp.raw_change": "mlp.change" },
};

/** @returns {string[]} the hook points of level "block" that the model has */
export const pointsOfBlock = ({ gated }) => OF_BLOCK.filter((point) => gated || point !== "mlp.gate");

/** `head?step=&layer=&head=` */
export function head(engine, log, { step, layer, head: number }) {
  inModel(engine, { layer, head: number });
  const text = textBefore(engine, log, step);
  return tensors(headIn(engine, text, log.steps[step].firstQuery, { layer, head: number }));
}

/** `block?step=&layer=&position=` */
export function block(engine, log, { step, layer, position }) {
  const { info } = engine;
  inModel(engine, { layer });
  if (info.experts) throw new Refused(409, msg`What is inside experts needs a server.`, { field: "layer" });
  const before = textBefore(engine, log, step);
  among("position", position, before.ids.length);
  const text = { ...before, ids: before.ids.slice(0, position + 1) };
  const raw = { ...(info.qk_norm && RAW.qk_norm), ...(info.post_norms && RAW.post_norms) };
  const direct = [...DIRECT, ...Object.keys(raw)];
  const frames = framesOf(engine, text, position, layer, [...pointsOfBlock(info), ...direct]);
  const values = blockOf(frames, position);
  const read = direct.map((name) => {
    return [name, { shape: values[raw[name] ?? name].shape, data: frames.at(-1).tensors[name].data }];
  });
  return tensors({ ...values, ...Object.fromEntries(read) });
}

/** Returns the values of a head in the rows from `first` on. */
export function headIn(engine, text, first, { layer, head: number }) {
  const changed = text.key ? ["attn.mixed"] : [];
  const frames = framesOf(engine, text, first, layer, changed);
  const values = headOf(frames, number);
  if (changed.length)
    values.output.data = columnsOf(frames.at(-1).tensors["attn.mixed"], number, values.output.shape[1]);
  return values;
}

/** Returns the columns of a head in rows [rows, heads · width]. */
export function columnsOf({ shape: [rows, stride], data }, number, width) {
  const columns = new Float32Array(rows * width);
  for (let row = 0; row < rows; row++) {
    const at = row * stride + number * width;
    columns.set(data.subarray(at, at + width), row * width);
  }
  return columns;
}

/** Returns values frames of a layer: of the rows before row `first`, with K and V alone, and of those from it on. */
function framesOf(engine, text, first, layer, points = []) {
  const own = ownRows(engine, text, first, layer, [...Object.values(QKV), ...points]);
  const count = text.ids.length - first;
  const { info } = engine;
  const { windows, score_width, activation } = info;
  const frame = {
    data: { first_query: first, window: windows?.[layer] ?? null, score_width, activation },
    tensors: {
      ...byHead(info, own, count),
      ...Object.fromEntries(points.map((point) => [point, rowsOf(own[point], count)])),
    },
  };
  if (!first) return [frame];
  const before = withRowsBefore(engine, text, first, (slots) => cachedRows(engine, layer, slots(first)));
  return [{ data: { first_query: 0 }, tensors: before }, frame];
}

/** Returns the values of a layer in the rows from `first` on, [rows, columns] by hook point. */
export function ownRows(engine, text, first, layer, points) {
  const key = JSON.stringify(["rows", text.key, text.ids, first, points]);
  const { layers, leaving } = engine.remembered.get(key) ?? { layers: [], leaving: null };
  if (layers.length > layer) return layers[layer];
  // The pass goes on where the one before ended.
  const all = [...layers];
  let end = leaving;
  observe(engine, text, {
    ...{ first, start: layers.length, end: layer + 1, entering: leaving },
    onLayer(_, value) {
      all.push(Object.fromEntries(points.map((point) => [point, value(point)])));
      end = value("resid_out");
    },
  });
  const bytes = all.flatMap(Object.values).reduce((sum, { byteLength }) => sum + byteLength, end.byteLength);
  engine.remembered.put(key, { layers: all, leaving: end }, bytes);
  return all[layer];
}

/** @returns {{q: Object, k: Object, v: Object}} tensors [heads, rows, head_dim] of values [rows, heads · head_dim] */
export function byHead({ heads, kv_heads: kvHeads, head_dim: width }, values, rows) {
  const ofHeads = (name, count) => turned({ shape: [rows, count, width], data: values[QKV[name]] });
  return { q: ofHeads("q", heads), k: ofHeads("k", kvHeads), v: ofHeads("v", kvHeads) };
}

/** @returns {{shape: number[], data: Float32Array}} a tensor with its first two axes exchanged */
export function turned({ shape: [first, second, width], data }) {
  const other = new Float32Array(data.length);
  for (let i = 0; i < first; i++)
    for (let j = 0; j < second; j++) {
      const at = (i * second + j) * width;
      other.set(data.subarray(at, at + width), (j * first + i) * width);
    }
  return { shape: [second, first, width], data: other };
}

/** @returns {{k: Object, v: Object}} rows of a layer in the cache, [kv_heads, slots, head_dim] */
export function cachedRows({ model, info }, layer, slots) {
  const { kv_heads: kvHeads, head_dim: width } = info;
  const { keys, values } = model.cacheOf(layer);
  const gathered = (from) => {
    const data = new Float32Array(kvHeads * slots.length * width);
    for (let each = 0; each < kvHeads; each++)
      slots.forEach((slot, row) => {
        const at = (each * model.positions + slot) * width;
        data.set(from.subarray(at, at + width), (each * slots.length + row) * width);
      });
    return { shape: [kvHeads, slots.length, width], data };
  };
  return { k: gathered(keys), v: gathered(values) };
}

const rowsOf = (data, rows) => ({ shape: [rows, data.length / rows], data });

/** @returns {{tensors: Object}} an answer of float32 tensors, each in its own buffer */
export function tensors(values) {
  const own = (data) => (data.byteLength === data.buffer.byteLength ? data : data.slice());
  const entries = Object.entries(values).map(([name, { shape, data }]) => [
    name,
    { dtype: "F32", shape, data: own(data) },
  ]);
  return { tensors: Object.fromEntries(entries) };
}
