/** The data of the drawing of a block: one layer, one row, and its known values. Pure. */

import { weightOf } from "../../../shared/log/companding.js";

/**
 * Collects what the drawing of a layer needs.
 *
 * @param {Object} run
 * @param {{layer: number, query: number}} place
 * @param {Object<string, {shape: number[], data: Float32Array}>|null} values exact tensors by hook point; null: show
 *   only the attention weights of the log
 */
export function blockScene(run, { layer, query }, values) {
  const { heads, kv_heads: kvHeads, head_dim: headDim, d, d_mlp: dense, ...kind } = run.open.model;
  const experts = kind.experts ? run.experts(layer, query) : [];
  const mlp = experts.length ? kind.experts.width : dense;
  const step = run.stepOfQuery(query);
  const prefill = step === 0;
  return {
    run,
    layer,
    query,
    step,
    prefill,
    exact: Boolean(values),
    values: values ?? { "attn.weights": weightsOfLog(run, layer, query) },
    /** The experts that the router chose for this row; none in a layer without experts. */
    experts,
    rows: prefill ? run.prefillRows : 1,
    /** Positions whose K and V were in the cache before this step. */
    cachedBefore: prefill ? run.reused : query,
    /** The first key that the row reads: 0, or the first of this layer's sliding window. */
    first: run.firstKey(layer, query),
    /** Positions after this step; those after `query` are masked. */
    positions: prefill ? run.promptLength : query + 1,
    dims: {
      heads,
      kvHeads,
      headDim,
      d,
      /** Numbers inside the MLP, or inside one expert. */
      mlp,
      /** How many experts the MLP has, and how many a row goes through; null: it has none. */
      experts: experts.length ? kind.experts : null,
      gated: kind.gated,
      activation: kind.activation,
      rotary: kind.positions === "rotary",
      /** Norms subtract the mean first: LayerNorm (arXiv:1607.06450), not RMSNorm. */
      centred: kind.norm === "layer",
      /** q and k of each head are normed too (arXiv:2505.09388). */
      headNorms: kind.qk_norm,
      /** The changes of attention and MLP are normed too (arXiv:2503.19786). */
      postNorms: kind.post_norms,
      /** A score is q · k ÷ the root of this. */
      scoreWidth: kind.score_width,
      /** A score s is then cap × tanh(s ÷ cap); null: it stays as it is. */
      scoreCap: kind.score_cap ?? null,
      /** The MLP reads the row that attention reads. */
      parallel: kind.parallel ?? false,
      /** How many keys a query reads at most, its own included; null: all. */
      window: kind.windows?.[layer] ?? null,
    },
  };
}

/** @returns {{shape: [number, number], data: Float32Array}} [H, K], each within 0.004 */
function weightsOfLog(run, layer, query) {
  const keys = query + 1;
  const data = new Float32Array(run.heads * keys);
  for (let head = 0; head < run.heads; head++) {
    const row = run.row(layer, head, query);
    for (let key = 0; key < keys; key++) data[head * keys + key] = weightOf(row[key]);
  }
  return { shape: [run.heads, keys], data };
}

/** @returns {Float32Array} the last axis of a tensor at these indices */
export function lineOf({ shape, data }, ...indices) {
  const width = shape.at(-1);
  const line = indices.reduce((at, index, axis) => at * shape[axis] + index, 0);
  return data.subarray(line * width, (line + 1) * width);
}

/** @returns {number} Euclidean length */
export function lengthOf(values) {
  let sum = 0;
  for (const value of values) sum += value * value;
  return Math.sqrt(sum);
}

/**
 * The two moments that a norm divides by.
 *
 * @param {Float32Array} x a row
 * @param {boolean} centred true: LayerNorm, false: RMSNorm
 * @returns {{mean: number, square: number}} `mean`: 0 for RMSNorm; `square`: mean of (x − mean)²
 */
export function momentsOf(x, centred) {
  const average = (read) => x.reduce((total, value) => total + read(value), 0) / x.length;
  const mean = centred ? average((value) => value) : 0;
  return { mean, square: average((value) => (value - mean) ** 2) };
}

/** @returns {{key: number, weight: number}} the key with the largest weight of a head */
export function strongestKey({ values }, head) {
  const row = lineOf(values["attn.weights"], head);
  let key = 0;
  for (let other = 1; other < row.length; other++) if (row[other] > row[key]) key = other;
  return { key, weight: row[key] };
}

/** @returns {number} the largest sum, over all heads, of the weights on positions outside `runs` */
export function weightOutside({ values, dims }, runs) {
  let largest = 0;
  for (let head = 0; head < dims.heads; head++) {
    const row = lineOf(values["attn.weights"], head);
    let inside = 0;
    for (const [from, to] of runs) for (let key = from; key <= Math.min(to, row.length - 1); key++) inside += row[key];
    largest = Math.max(largest, 1 - inside);
  }
  return Math.max(0, largest);
}

/**
 * The length of each half's change relative to the row it is added to.
 *
 * @returns {{attention: Object, mlp: Object}|null} each {row, change, share}; null without exact values
 */
export function deltas({ exact, values }) {
  if (!exact) return null;
  const half = (row, change) => {
    const [whole, added] = [lengthOf(values[row].data), lengthOf(values[change].data)];
    return { row: whole, change: added, share: whole ? added / whole : 0 };
  };
  return { attention: half("resid_in", "attn.change"), mlp: half("resid_mid", "mlp.change") };
}
