/** Arithmetic and memory traffic of a forward pass, computed from shapes as kvscope/model/engine/cost.py does. Pure. */

/** @typedef {Object<string, number>} ByFormat bytes by the format of their numbers */

/**
 * @param {Object} model of an `open` frame
 * @param {{products: number, weights: ByFormat, expert: ByFormat, embedding_row: number}} cost of a packed model
 *   (kvscope/model/native/packed.py)
 * @param {number} rows new rows of the pass
 * @param {number} keys after it
 * @param {number} experts how many experts the pass used, summed over layers
 * @returns {{flops: number, bytes_read: number, weights: ByFormat}}
 */
export function costOf(model, cost, rows, keys, experts) {
  const { layers, heads, kv_heads: kvHeads, head_dim: width, d, vocab, windows, element_bytes: bytes } = model;
  const attention = 2 * layers * heads * width * rows * keys;
  const perLayer = windows ?? Array.from({ length: layers }, () => null);
  const read = perLayer.reduce(
    (total, window) => total + (window === null ? keys : Math.min(keys, window - 1 + rows)),
    0,
  );
  const used = Object.fromEntries(Object.entries(cost.expert).map(([format, each]) => [format, each * experts]));
  const weights = sum(cost.weights, used);
  const matrices = Object.values(weights).reduce((total, each) => total + each, 0);
  return {
    flops: 2 * (rows * cost.products + d * vocab + attention),
    bytes_read: matrices + rows * cost.embedding_row + bytes * 2 * kvHeads * width * read,
    weights,
  };
}

/** @param {ByFormat} some  @param {ByFormat} more  @returns {ByFormat} */
export function sum(some, more) {
  const total = { ...some };
  for (const [format, bytes] of Object.entries(more)) total[format] = (total[format] ?? 0) + bytes;
  return total;
}

/**
 * @param {{shape: {layers: Object[]}, noExpert: number}} model
 * @param {import("../native/pass.js").Experts|null} experts of a pass
 * @returns {number} how many experts the pass used, summed over layers; an expert that several rows chose counts once
 */
export function expertsUsed({ shape, noExpert }, experts) {
  if (!experts) return 0;
  const { chosen } = experts;
  const ofLayer = chosen.length / shape.layers.length;
  const layers = shape.layers.map((_, layer) => new Set(chosen.subarray(layer * ofLayer, (layer + 1) * ofLayer)));
  return layers.reduce((used, each) => used + each.size - (each.has(noExpert) ? 1 : 0), 0);
}
