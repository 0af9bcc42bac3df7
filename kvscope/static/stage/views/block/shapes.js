/** Shapes of a block's weight matrices, [numbers out, numbers in]. Pure. */

import { unhandled } from "../../../shared/facts/unhandled.js";

/**
 * @param {"attn.q"|"attn.k"|"attn.v"|"attn.out"|"mlp.gate"|"mlp.up"|"mlp.down"} of as client.ask("matrix") takes it
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
    case "mlp.gate":
    case "mlp.up":
      return [mlp, d];
    default:
      return unhandled(of);
  }
}
