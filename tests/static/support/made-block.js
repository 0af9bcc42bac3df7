/** Values of one block as the server gives them, made so that each operation holds: sums are sums, softmax is softmax. */

/** @returns {Object<string, {shape: number[], data: Float32Array}>} */
export function madeBlock({ heads = 4, kvHeads = 2, headDim = 8, d = 32, mlp = 64, keys, gated = true }) {
  const waves = (seed, ...shape) => ({
    shape,
    data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin(seed * 7.3 + i * 1.7)),
  });
  const added = (a, b) => ({ shape: a.shape, data: a.data.map((value, i) => value + b.data[i]) });
  const values = {
    resid_in: waves(1, d),
    "attn.normed": waves(2, d),
    "attn.q": waves(3, heads, headDim),
    "attn.k": waves(4, kvHeads, headDim),
    "attn.v": waves(5, kvHeads, headDim),
    "attn.q_rot": waves(6, heads, headDim),
    "attn.k_rot": waves(7, kvHeads, headDim),
    "attn.mixed": waves(8, heads, headDim),
    "attn.change": waves(9, d),
    "mlp.normed": waves(10, d),
    "mlp.raised": waves(11, mlp),
    "mlp.hidden": waves(12, mlp),
    "mlp.change": waves(13, d),
    "cache.k": waves(14, kvHeads, keys, headDim),
    "cache.v": waves(15, kvHeads, keys, headDim),
    "attn.scores": waves(16, heads, keys),
  };
  if (gated) values["mlp.gate"] = waves(17, mlp);
  values.resid_mid = added(values.resid_in, values["attn.change"]);
  values.resid_out = added(values.resid_mid, values["mlp.change"]);
  values["attn.weights"] = softmaxOf(values["attn.scores"]);
  return values;
}

function softmaxOf({ shape, data }) {
  const [rows, width] = shape;
  const weights = data.map(Math.exp);
  for (let row = 0; row < rows; row++) {
    const line = weights.subarray(row * width, (row + 1) * width);
    const sum = line.reduce((total, value) => total + value, 0);
    line.forEach((value, i) => (line[i] = value / sum));
  }
  return { shape, data: weights };
}
