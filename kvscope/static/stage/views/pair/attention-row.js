/** One query's whole row out of a head's exact values (docs/frames.md, `head`): softmax, and the mix of V. Pure. */

import { lineOf } from "../block/scene.js";

/**
 * Returns the softmax of a row, computed again from the engine's scores: weight = e^(score − max) / Σ e^(score − max).
 *
 * @param {Object<string, {shape: number[], data: Float32Array}>} head scores and weights [rows, keys]
 * @param {{row: number, query: number, first: number}} place `row`: which of the step's rows; `query`: its position; `first`: the
 *   first key that it reads
 * @returns {{first: number, keys: number, masked: number, scores: Float32Array, weights: Float32Array, max: number,
 *   powers: Float64Array, powerSum: number, weightSum: number, difference: number}}
 *   `keys`: how many the query may read; `masked`: how many later ones are masked; `weights`: the engine's; `powers`: 0 before
 *   `first`, where a score has no weight;
 *   `difference`: the largest between the engine's weights and those from `powers`
 */
export function attentionRow(head, { row, query, first }) {
  const scores = lineOf(head.scores, row).subarray(0, query + 1);
  const weights = lineOf(head.weights, row).subarray(0, query + 1);
  const max = scores.subarray(first).reduce((largest, score) => Math.max(largest, score), Number.NEGATIVE_INFINITY);
  const powers = Float64Array.from(scores, (score, key) => (key < first ? 0 : Math.exp(score - max)));
  const powerSum = total(powers);
  const difference = weights.reduce(
    (most, weight, key) => Math.max(most, Math.abs(weight - powers[key] / powerSum)),
    0,
  );
  const masked = head.scores.shape[1] - (query + 1);
  return {
    first,
    keys: query + 1 - first,
    masked,
    scores,
    weights,
    max,
    powers,
    powerSum,
    weightSum: total(weights),
    difference,
  };
}

/**
 * Returns one number of the head's output as the sum over keys of weight × v.
 *
 * @param {Object} head weights [rows, keys], v [keys, head_dim], output [rows, head_dim]
 * @param {{row: number, query: number}} place as for `attentionRow`; the weights of keys that it does not read are 0
 * @param {number} dimension of the output
 * @returns {{values: Float64Array, parts: Float64Array, sum: number, output: number, difference: number}}
 *   `values`: v of every key in this dimension; `parts`: weight × v; `output`: the engine's
 */
export function mixAt(head, { row, query }, dimension) {
  const keys = query + 1;
  const weights = lineOf(head.weights, row);
  const values = Float64Array.from({ length: keys }, (_, key) => lineOf(head.v, key)[dimension]);
  const parts = values.map((value, key) => weights[key] * value);
  const sum = total(parts);
  const output = lineOf(head.output, row)[dimension];
  return { values, parts, sum, output, difference: Math.abs(sum - output) };
}

/**
 * Chooses the keys of a row to list: all, by position, if there is space; else the keys with the largest weights and the chosen
 * key.
 *
 * @param {ArrayLike<number>} weights
 * @param {number} first key that the row reads
 * @param {number} chosen
 * @param {number} most
 * @returns {{listed: number[], rest: number[]}}
 */
export function listedKeys(weights, first, chosen, most) {
  const all = Array.from({ length: weights.length - first }, (_, at) => first + at);
  if (all.length <= most) return { listed: all, rest: [] };
  const order = all.sort((a, b) => weights[b] - weights[a] || a - b);
  const listed = order.slice(0, most);
  if (!listed.includes(chosen)) listed[most - 1] = chosen;
  const shown = new Set(listed);
  return { listed, rest: order.filter((key) => !shown.has(key)) };
}

/** @returns {number} */
export function total(values) {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}
