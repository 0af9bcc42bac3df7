/** Shapes of a block's weight matrices, [numbers out, numbers in]. Pure. */

/**
 * @param {string} of as client.ask("matrix") takes it
 * @param {{heads: number, kvHeads: number, headDim: number, d: number, mlp: number}} dims
 * @returns {[number, number]}
 */
export function shapeOf(of, { heads, kvHeads, headDim, d, mlp }) {
  switch (of) {
    case "attn.q":
      return [heads * headDim, d];
    case "attn.k":
    case "attn.v":
      return [kvHeads * headDim, d];
    case "attn.out":
      return [d, heads * headDim];
    case "mlp.down":
      return [d, mlp];
    default:
      return [mlp, d];
  }
}
