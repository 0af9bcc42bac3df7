/** A head's decode step computed twice, with the cache and from the tokens again (docs/frames.md, `algebra`). Pure. */

/** @returns {{largest: number, size: number}} the largest |a − b|, and the largest |a| */
function difference(a, b) {
  let [largest, size] = [0, 0];
  for (let i = 0; i < a.length; i++) {
    largest = Math.max(largest, Math.abs(a[i] - b[i]));
    size = Math.max(size, Math.abs(a[i]));
  }
  return { largest, size };
}

function lastRow({ shape, data }) {
  const width = shape[shape.length - 1];
  return data.subarray(data.length - width);
}

/**
 * Compares the cached values of a head with those computed again.
 *
 * @param {Object<string, {shape: number[], data: Float32Array}>} values as `client.ask("algebra")` gives them
 * @returns {{keys: number, headDim: number, k: Object, v: Object, output: Object}} each the result of `difference`;
 *   `output`: of the newest row, the only one that the step computes
 */
export function algebraFacts(values) {
  const [keys, headDim] = values.k.shape;
  return {
    keys,
    headDim,
    k: difference(values.k.data, values.k_again.data),
    v: difference(values.v.data, values.v_again.data),
    output: difference(values.output.data, lastRow(values.output_again)),
  };
}

/**
 * Leaves out the rows of K and V that a local layer no longer reads.
 *
 * @param {Object<string, {shape: number[], data: Float32Array}>} values as `client.ask("algebra")` gives them
 * @param {number} first position that the layer's queries still read: earlier ones are no longer in its cache
 * @returns {Object} the same, with K and V from that position on
 */
export function readableOnly(values, first) {
  if (!first) return values;
  const cut = (/** @type {{shape: number[], data: Float32Array}} */ { shape, data }) => ({
    shape: [shape[0] - first, shape[1]],
    data: data.subarray(first * shape[1]),
  });
  const readable = { ...values };
  for (const name of ["k", "v", "k_again", "v_again"]) readable[name] = cut(values[name]);
  return readable;
}
