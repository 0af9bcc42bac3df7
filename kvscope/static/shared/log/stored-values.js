/**
 * Exact answers (docs/frames.md, On demand) from values stored with a saved session. Pure.
 *
 * Q, K and V are the model's values, in float32; this module computes what follows from them by arithmetic: scores,
 * weights and a head's output, and inside a block the sums and the MLP's product. Sums are taken in double precision and
 * rounded once, so that they differ from the engine's float32 by less than its own rounding.
 *
 * A values frame is {data: {step, layer, level, first_query, window, score_width?, score_cap?, activation?}, tensors}: q [heads, rows, head_dim], k and v
 * [kv_heads, rows, head_dim] of the rows that the step computed, and at level "block" the vectors of each row.
 */

import { ACTIVATIONS } from "./activations.js";
import { capped } from "./model.js";

/**
 * Computes one head of a step, in the format of the question `head`.
 *
 * @param {Object[]} frames of one layer, of steps 0 to this one, in order
 * @param {number} head
 * @returns {Object<string, {shape: number[], data: Float32Array}>} q, k, v, scores, weights, output
 */
export function headOf(frames, head) {
  const { data, tensors } = frames.at(-1);
  const firstQuery = firstQueryOf(frames.at(-1));
  const [heads, rows, width] = tensors.q.shape;
  const kvHead = Math.floor((head * tensors.k.shape[0]) / heads);
  const keys = firstQuery + rows;
  const q = tensors.q.data.subarray(head * rows * width, (head + 1) * rows * width);
  const [k, v] = ["k", "v"].map((name) => rowsOf(frames, name, kvHead, keys));
  const attention = attend({ ...shapesOf(data), q, k, v, rows, keys, width, firstQuery });
  return {
    q: { shape: [rows, width], data: q },
    k: { shape: [keys, width], data: k },
    v: { shape: [keys, width], data: v },
    scores: { shape: [rows, keys], data: attention.scores },
    weights: { shape: [rows, keys], data: attention.weights },
    output: { shape: [rows, width], data: attention.output },
  };
}

/**
 * Computes every value inside a block for one token, in the format of the question `block`.
 *
 * @param {Object[]} frames of one layer at level "block", of all steps from 0 on, in order
 * @param {number} position of the token; some step of `frames` computed its row
 * @returns {Object<string, {shape: number[], data: Float32Array}>} by hook point, with `cache.k` and `cache.v`
 */
export function blockOf(frames, position) {
  const frame = frames.findLast((each) => firstQueryOf(each) <= position);
  const { data, tensors } = frame;
  const row = position - firstQueryOf(frame);
  const [heads, rows, width] = tensors.q.shape;
  const kvHeads = tensors.k.shape[0];
  const keys = position + 1;
  const headRows = (name) =>
    stack(headsOf(tensors[name].shape[0]).map((head) => slice(tensors[name].data, head * rows + row, width)));
  const vector = (name) => slice(tensors[name].data, row, tensors[name].shape[1]);
  const cache = {
    k: headsOf(kvHeads).map((head) => rowsOf(frames, "k", head, keys)),
    v: headsOf(kvHeads).map((head) => rowsOf(frames, "v", head, keys)),
  };
  const attended = headsOf(heads).map((head) => {
    const kvHead = Math.floor((head * kvHeads) / heads);
    const q = slice(tensors.q.data, head * rows + row, width);
    const kv = { k: cache.k[kvHead], v: cache.v[kvHead] };
    return attend({ ...shapesOf(data), ...kv, q, rows: 1, keys, width, firstQuery: position });
  });
  const [q, k] = [headRows("q"), headRows("k")];
  const unrotated = (rotated) => (tensors.rope ? rotatedBack(rotated, tensors.rope.data, position) : rotated);
  const byHead = (values, count) => ({ shape: [count, width], data: values });
  const overKeys = (name) => ({ shape: [heads, keys], data: stack(attended.map((attention) => attention[name])) });
  const flat = (values) => ({ shape: [values.length], data: values });
  const middle = sum(vector("resid_in"), vector("attn.change"));
  const gate = tensors["mlp.gate"] ? vector("mlp.gate") : null;
  return {
    resid_in: flat(vector("resid_in")),
    "attn.normed": flat(vector("attn.normed")),
    "attn.q": byHead(unrotated(q), heads),
    "attn.k": byHead(unrotated(k), kvHeads),
    "attn.v": byHead(headRows("v"), kvHeads),
    "attn.q_rot": byHead(q, heads),
    "attn.k_rot": byHead(k, kvHeads),
    "attn.scores": overKeys("scores"),
    "attn.weights": overKeys("weights"),
    "attn.mixed": byHead(stack(attended.map(({ output }) => output)), heads),
    "attn.change": flat(vector("attn.change")),
    resid_mid: flat(middle),
    "mlp.normed": flat(vector("mlp.normed")),
    ...(gate && { "mlp.gate": flat(gate) }),
    "mlp.raised": flat(vector("mlp.raised")),
    "mlp.hidden": flat(activated(gate, vector("mlp.raised"), data.activation)),
    "mlp.change": flat(vector("mlp.change")),
    resid_out: flat(sum(middle, vector("mlp.change"))),
    "cache.k": { shape: [kvHeads, keys, width], data: stack(cache.k) },
    "cache.v": { shape: [kvHeads, keys, width], data: stack(cache.v) },
  };
}

/** The fields of a frame that scores and weights depend on. */
const shapesOf = ({ window, score_width: scoreWidth, score_cap: scoreCap }) => ({ window, scoreWidth, scoreCap });

/** Computes softmax(q·kᵀ/√d)·v (arXiv:1706.03762, eq. 1) of the rows from `firstQuery` on, with capped scores if there is a cap; masked keys have no weight. */
function attend({ q, k, v, rows, keys, width, firstQuery, window, scoreWidth = width, scoreCap = null }) {
  const scores = new Float32Array(rows * keys);
  const weights = new Float32Array(rows * keys);
  const output = new Float32Array(rows * width);
  const scale = 1 / Math.sqrt(scoreWidth);
  const mix = new Float64Array(width);
  for (let row = 0; row < rows; row++) {
    const query = firstQuery + row;
    const from = window === null ? 0 : Math.max(0, query - window + 1);
    for (let key = 0; key < keys; key++) {
      let dot = 0;
      for (let i = 0; i < width; i++) dot += q[row * width + i] * k[key * width + i];
      scores[row * keys + key] = capped(dot * scale, scoreCap);
    }
    const visible = scores.subarray(row * keys + from, row * keys + query + 1);
    const largest = visible.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY);
    const total = visible.reduce((all, score) => all + Math.exp(score - largest), 0);
    mix.fill(0);
    for (let key = from; key <= query; key++) {
      const weight = Math.exp(scores[row * keys + key] - largest) / total;
      weights[row * keys + key] = weight;
      for (let i = 0; i < width; i++) mix[i] += weight * v[key * width + i];
    }
    output.set(mix, row * width);
  }
  return { scores, weights, output };
}

/** Returns the position of the first row that a step computed. */
const firstQueryOf = ({ data }) => data.first_query;

/** Returns the rows of positions 0…keys − 1 of one K/V head, from the steps that computed them. */
function rowsOf(frames, name, kvHead, keys) {
  const width = frames[0].tensors[name].shape[2];
  const all = new Float32Array(keys * width);
  for (const frame of frames) {
    const firstQuery = firstQueryOf(frame);
    if (firstQuery >= keys) break;
    const { shape, data } = frame.tensors[name];
    const rows = shape[1];
    const count = Math.min(rows, keys - firstQuery);
    const start = kvHead * rows * width;
    all.set(data.subarray(start, start + count * width), firstQuery * width);
  }
  return all;
}

/**
 * Reverses the rotation of rotary positions (arXiv:2104.09864, eq. 34): number i pairs with i + d/2.
 *
 * @param {Float32Array} rotated rows of one position, one after another
 * @param {Float32Array} rope angle per position of each pair
 * @param {number} position
 */
function rotatedBack(rotated, rope, position) {
  const half = rope.length;
  const rows = new Float32Array(rotated.length);
  for (let start = 0; start < rotated.length; start += 2 * half) {
    for (let i = 0; i < half; i++) {
      const angle = Math.fround(position * rope[i]); // the engine's angles are float32
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      const [x, y] = [rotated[start + i], rotated[start + i + half]];
      rows[start + i] = x * cos + y * sin;
      rows[start + i + half] = y * cos - x * sin;
    }
  }
  return rows;
}

/** Returns activation(gate) × up, or activation(up) without a gate. */
function activated(gate, up, activation = gate ? "silu" : "gelu_tanh") {
  const { share } = ACTIVATIONS[activation];
  return gate ? gate.map((x, i) => x * share(x) * up[i]) : up.map((x) => x * share(x));
}

function sum(a, b) {
  return a.map((value, i) => value + b[i]);
}

function slice(data, line, width) {
  return data.slice(line * width, (line + 1) * width);
}

function headsOf(count) {
  return Array.from({ length: count }, (_, head) => head);
}

/** @returns {Float32Array} the numbers of all parts, one after another */
export function stack(parts) {
  const joined = new Float32Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
