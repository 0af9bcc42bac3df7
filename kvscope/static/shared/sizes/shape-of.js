/** The shape of the running model, for the formulas of sizes and times. Pure. */

/**
 * @param {Object} model of an `open` frame
 * @returns {import("./parameters.js").Model} its shape. Windows of several
 *   widths are left out, because no formula here has them
 */
export function shapeOf({ name, layers, d, heads, kv_heads, head_dim, d_mlp, vocab, context, tied, ...kind }) {
  const sizes = { layers, d, heads, kv_heads, head_dim, d_mlp, vocab, context };
  const { gated, qk_norm } = kind;
  const layer = { gated, norms: 2, centred: kind.norm === "layer", qk_norm, positions: kind.positions === "learned" };
  return { name, ...sizes, layer, tied, window: windowOf(kind.windows), mla: null, moe: null };
}

function windowOf(windows) {
  const layers = (windows ?? []).flatMap((window, layer) => (window === null ? [] : [layer]));
  const widths = new Set(layers.map((layer) => windows[layer]));
  return widths.size === 1 ? { tokens: windows[layers[0]], layers } : null;
}
