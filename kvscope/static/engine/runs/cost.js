/** Arithmetic and memory traffic of a forward pass, computed from shapes as kvscope/model/engine/cost.py does. Pure. */

/**
 * @param {Object} model of an `open` frame
 * @param {{products: number, weights: Object<string, number>, embedding_row: number}} cost of a packed model: multiply-adds of a row in
 *   all blocks, bytes of the matrices by format, bytes of a token's embedding
 * @param {number} rows new rows of the pass
 * @param {number} keys after it
 * @returns {{flops: number, bytes_read: number}}
 */
export function costOf(model, cost, rows, keys) {
  const { layers, heads, kv_heads: kvHeads, head_dim: width, d, vocab, windows, element_bytes: bytes } = model;
  const attention = 2 * layers * heads * width * rows * keys;
  const perLayer = windows ?? Array.from({ length: layers }, () => null);
  const read = perLayer.reduce((sum, window) => sum + (window === null ? keys : Math.min(keys, window - 1 + rows)), 0);
  const weights = Object.values(cost.weights).reduce((sum, each) => sum + each, 0);
  return {
    flops: 2 * (rows * cost.products + d * vocab + attention),
    bytes_read: weights + rows * cost.embedding_row + bytes * 2 * kvHeads * width * read,
  };
}
