/** The learned weights of a layer (docs/frames.md, On demand): a row of a matrix, or all of it as a picture. */

import { stack } from "../../shared/log/stored-values.js";
import { msg } from "../../shared/words/msg.js";
import { Refused } from "../refused.js";
import { tensors } from "./exact.js";
import { inModel } from "./text.js";

/** The shade of a weight of 0, and the number of shades below and above it. */
const ZERO = 128;
const STEPS = 127;

/** `weights?layer=&of=&index=` */
export function weights(engine, _log, { layer, of, index }) {
  const { model } = engine;
  const { rows, at, vector, bias, eps } = partOf(engine, layer, of);
  if (!(index >= 0 && index < rows)) {
    const limit = [0, rows - 1];
    const last = (rows - 1).toLocaleString("en");
    throw new Refused(422, msg`index is ${index}; it must be from 0 to ${last}.`, { field: "index", limit });
  }
  const row = vector ? vector.slice(index, index + 1) : matrixRows(model, at, index, 1);
  const number = (value) => ({ shape: [1], data: Float32Array.of(value) });
  return tensors({
    row: { shape: [row.length], data: row },
    ...(bias && { bias: number(bias[index]) }),
    ...(eps !== undefined && { eps: number(eps) }),
  });
}

/** `matrix?layer=&of=` */
export function matrix(engine, _log, { layer, of }) {
  const { rows, at } = partOf(engine, layer, of);
  if (!at) throw new Refused(422, msg`of is ${of}, a vector; only a matrix can be drawn.`, { field: "of" });
  const all = matrixRows(engine.model, at, 0, rows);
  const largest = all.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0);
  const shades = Uint8Array.from(all, (weight) => {
    return Math.round(ZERO + STEPS * Math.sign(weight) * Math.sqrt(Math.abs(weight) / largest));
  });
  return {
    tensors: {
      shades: { dtype: "U8", shape: [rows, all.length / rows], data: shades },
      largest: { dtype: "F32", shape: [1], data: Float32Array.of(largest) },
    },
  };
}

/**
 * Returns a part of a block: `rows`, how many outputs it has; of a matrix `at`, its linear layer and its first row in that; of a norm or
 * the rotation `vector`, its numbers; and `bias` and `eps` where there are some.
 */
export function partOf(engine, layer, of) {
  inModel(engine, { layer });
  const parts = { ...matricesOf(engine, layer), ...normsOf(engine, layer) };
  if (of === "attn.rope" && engine.model.rotations[layer]) {
    const vector = Float32Array.from(engine.model.rotations[layer].frequencies);
    return { rows: vector.length, vector };
  }
  if (!parts[of]) throw new Refused(422, msg`This model has no ${of}.`, { field: "of", limit: Object.keys(parts) });
  return parts[of];
}

function matricesOf({ model, info }, layer) {
  const { qkv, out, gate_up: gateUp, down, experts } = model.shape.layers[layer];
  const { d, d_mlp: wide, gated } = info;
  const [heads, kvHeads] = [info.heads, info.kv_heads].map((count) => count * info.head_dim);
  const part = (linear, first, rows) => {
    const bias = linear.bias && model.floatsOf(linear.bias, linear.outputs).slice(first, first + rows);
    return { rows, at: { linear, first }, bias };
  };
  return {
    "attn.q": part(qkv, 0, heads),
    "attn.k": part(qkv, heads, kvHeads),
    "attn.v": part(qkv, heads + kvHeads, kvHeads),
    "attn.out": part(out, 0, d),
    ...(!experts && { "mlp.up": part(gateUp, gated ? wide : 0, wide), "mlp.down": part(down, 0, d) }),
    ...(!experts && gated && { "mlp.gate": part(gateUp, 0, wide) }),
  };
}

function normsOf({ model, info }, layer) {
  const { attn_norm, mlp_norm, q_norm, k_norm, attn_post, mlp_post } = model.shape.layers[layer];
  const norm = ({ weight, bias }, rows) =>
    weight && {
      rows,
      vector: model.floatsOf(weight, rows),
      bias: bias && model.floatsOf(bias, rows),
      eps: model.shape.eps,
    };
  const all = {
    ...{ "attn.norm": norm(attn_norm, info.d), "mlp.norm": norm(mlp_norm, info.d) },
    ...{ "attn.q_norm": norm(q_norm, info.head_dim), "attn.k_norm": norm(k_norm, info.head_dim) },
    ...{ "attn.post_norm": norm(attn_post, info.d), "mlp.post_norm": norm(mlp_post, info.d) },
  };
  return Object.fromEntries(Object.entries(all).filter(([, part]) => part));
}

/** Returns rows of a linear layer, whose parts have consecutive outputs, from its row `first` + `index` on. */
export function matrixRows(model, { linear, first }, index, count) {
  const rows = [];
  let start = 0;
  for (const part of linear.parts) {
    const from = Math.max(first + index, start);
    const to = Math.min(first + index + count, start + part.outputs);
    if (from < to) rows.push(model.rowsOf(part, from - start, to - from));
    start += part.outputs;
  }
  return stack(rows);
}
