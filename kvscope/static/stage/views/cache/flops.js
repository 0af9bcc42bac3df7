/**
 * Arithmetic of forward passes, computed from a model's shape as the engine counts it: multiply-adds × 2 of the matrix
 * products. Norms, softmax and activations are left out, because they take a few operations per number. Pure.
 */

import { mlpProducts } from "../../../shared/log/model.js";

/**
 * One layer's operations for `rows` new rows that end with `keys` keys.
 *
 * @param {Object} model of an `open` frame
 * @param {boolean} [sparse] whether the layer has experts
 * @returns {{q: number, kv: number, scores: number, mix: number, out: number, mlp: number}} FLOPs
 */
export function layerFlops(model, rows, keys, sparse = false) {
  const { d, heads, kv_heads: kvHeads, head_dim: headDim } = model;
  return {
    q: 2 * rows * d * heads * headDim,
    kv: 2 * rows * d * 2 * kvHeads * headDim,
    scores: 2 * rows * heads * headDim * keys,
    mix: 2 * rows * heads * headDim * keys,
    out: 2 * rows * heads * headDim * d,
    mlp: 2 * rows * mlpProducts(model, sparse),
  };
}

/**
 * Returns the work of a whole pass: every layer, and the LM head for one row.
 *
 * @param {number} [sparse] how many layers have experts
 * @returns {number} FLOPs of a whole pass: every layer, and the LM head for one row
 */
export function passFlops(model, rows, keys, sparse = 0) {
  const layer = (has) => Object.values(layerFlops(model, rows, keys, has)).reduce((sum, flops) => sum + flops, 0);
  return (model.layers - sparse) * layer(false) + (sparse && sparse * layer(true)) + 2 * model.d * model.vocab;
}
