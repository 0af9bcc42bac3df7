/**
 * Arithmetic of forward passes, computed from a model's shape as the engine counts it: multiply-adds × 2 of the matrix
 * products. Norms, softmax and activations are left out, because they take a few operations per number. Pure.
 */

import { matricesOf } from "../../../shared/log/model.js";

/**
 * One layer's operations for `rows` new rows that end with `keys` keys.
 *
 * @param {Object} model of an `open` frame
 * @returns {{q: number, kv: number, scores: number, mix: number, out: number, mlp: number}} FLOPs
 */
export function layerFlops(model, rows, keys) {
  const { d, heads, kv_heads: kvHeads, head_dim: headDim } = model;
  return {
    q: 2 * rows * d * heads * headDim,
    kv: 2 * rows * d * 2 * kvHeads * headDim,
    scores: 2 * rows * heads * headDim * keys,
    mix: 2 * rows * heads * headDim * keys,
    out: 2 * rows * heads * headDim * d,
    mlp: 2 * rows * matricesOf(model).mlp,
  };
}

/** @returns {number} FLOPs of a whole pass: every layer, and the LM head for one row */
export function passFlops(model, rows, keys) {
  const layer = Object.values(layerFlops(model, rows, keys)).reduce((sum, flops) => sum + flops, 0);
  return model.layers * layer + 2 * model.d * model.vocab;
}
