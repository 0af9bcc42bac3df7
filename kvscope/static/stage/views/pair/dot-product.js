/** One query·key pair out of a head's exact values (docs/frames.md, `head`). Pure. */

import { lineOf } from "../block/scene.js";

/**
 * Returns the dot product of a query and a key, term by term.
 *
 * @param {Object<string, {shape: number[], data: Float32Array}>} head q, k, v, scores, weights, output
 * @param {{row: number, key: number, query: number, first: number}} pair `row`: which of the step's rows; `query`: its position;
 *   `first`: the first key that it reads
 * @returns {{q: Float32Array, k: Float32Array, v: Float32Array, output: Float32Array, products: Float64Array,
 *   dot: number, score: number, weight: number, keys: number, headDim: number}}
 *   `keys`: how many keys the softmax runs over; `output`: the head's, for this query
 */
export function dotProduct(head, { row, key, query, first }) {
  const q = lineOf(head.q, row);
  const k = lineOf(head.k, key);
  const products = Float64Array.from(q, (value, i) => value * k[i]);
  return {
    q,
    k,
    v: lineOf(head.v, key),
    output: lineOf(head.output, row),
    products,
    dot: products.reduce((total, value) => total + value, 0),
    score: lineOf(head.scores, row)[key],
    weight: lineOf(head.weights, row)[key],
    keys: query + 1 - first,
    headDim: q.length,
  };
}

/** @returns {number[]} indices, those of the largest absolute values first */
export function bySize(values) {
  return Array.from(values, (_, index) => index).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]) || a - b);
}

/**
 * Returns the running sum of values.
 *
 * @param {ArrayLike<number>} values
 * @param {number[]} order indices, in the order of adding
 * @returns {Float64Array} the running sum after each of them
 */
export function runningTotals(values, order) {
  let sum = 0;
  return Float64Array.from(order, (index) => {
    sum += values[index];
    return sum;
  });
}
