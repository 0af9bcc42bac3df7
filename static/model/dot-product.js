/** One query·key pair out of a head's exact values (docs/frames.md, `head`). Pure. */

/**
 * @param {Object<string, {shape: number[], data: Float32Array}>} head q, k, v, scores, weights, output
 * @param {{row: number, key: number, query: number}} pair `row`: which of the step's rows; `query`: its position
 * @returns {{q: Float32Array, k: Float32Array, v: Float32Array, products: Float32Array,
 *   dot: number, score: number, weight: number, keys: number, headDim: number}}
 *   `keys`: how many keys the softmax runs over
 */
export function dotProduct(head, { row, key, query }) {
  const q = line(head.q, row);
  const k = line(head.k, key);
  const products = q.map((value, i) => value * k[i]);
  return {
    q,
    k,
    v: line(head.v, key),
    products,
    dot: products.reduce((total, value) => total + value, 0),
    score: line(head.scores, row)[key],
    weight: line(head.weights, row)[key],
    keys: query + 1,
    headDim: q.length,
  };
}

function line({ shape, data }, row) {
  const width = shape[shape.length - 1];
  return data.subarray(row * width, (row + 1) * width);
}

/** @returns {{index: number, q: number, k: number, product: number}[]} the terms of largest size, largest first */
export function largestTerms(pair, count) {
  const { products } = pair;
  return Array.from(products.keys())
    .sort((a, b) => Math.abs(products[b]) - Math.abs(products[a]))
    .slice(0, count)
    .map((index) => termAt(pair, index));
}

/** @returns {{index: number, q: number, k: number, product: number}} one term of the dot product */
export function termAt({ q, k, products }, index) {
  return { index, q: q[index], k: k[index], product: products[index] };
}
