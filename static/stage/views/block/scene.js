/** What the drawing of a block is about: one layer, one row, and the values that are known of it. Pure. */

import { weightOf } from "../../../shared/log/companding.js";

/**
 * @param {Object} run
 * @param {{layer: number, query: number}} place
 * @param {Object<string, {shape: number[], data: Float32Array}>|null} values exact tensors by hook point; null: only what
 *   the log holds is shown
 */
export function blockScene(run, { layer, query }, values) {
  const { heads, kv_heads: kvHeads, head_dim: headDim, d, d_mlp: mlp, ...kind } = run.open.model;
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
    rows: prefill ? run.prefillRows : 1,
    /** Columns that stood on the shelf before this step. */
    stood: prefill ? run.reused : query,
    /** Positions that exist once this step is done; those after `query` are masked. */
    positions: prefill ? run.promptLength : query + 1,
    dims: {
      heads,
      kvHeads,
      headDim,
      d,
      mlp,
      gated: kind.gated,
      activation: kind.activation,
      rotary: kind.positions === "rotary",
      /** Norms take the mean off first: LayerNorm (arXiv:1607.06450), not RMSNorm. */
      centred: kind.norm === "layer",
      /** q and k of each head have a norm of their own (arXiv:2505.09388). */
      headNorms: kind.qk_norm,
      /** How many keys a query sees at most, itself among them; null: all. */
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

/** @returns {Float32Array} a line of a tensor whose last axis is the line */
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

/** @returns {{key: number, weight: number}} where a head looks most */
export function strongestKey({ values }, head) {
  const row = lineOf(values["attn.weights"], head);
  let key = 0;
  for (let other = 1; other < row.length; other++) if (row[other] > row[key]) key = other;
  return { key, weight: row[key] };
}

/** @returns {number} of all heads' weights on positions outside `runs`, the largest sum */
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
 * How long each half's change is beside the row it is added to.
 *
 * @returns {{attention: Object, mlp: Object}|null} each {row, change, share}; null while the exact values are not there
 */
export function deltas({ exact, values }) {
  if (!exact) return null;
  const half = (row, change) => {
    const [whole, added] = [lengthOf(values[row].data), lengthOf(values[change].data)];
    return { row: whole, change: added, share: whole ? added / whole : 0 };
  };
  return { attention: half("resid_in", "attn.change"), mlp: half("resid_mid", "mlp.change") };
}
