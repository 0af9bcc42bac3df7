/** The learned matrices of a layer: their names, what they multiply, their shapes. Pure. */

import { axesOf, sizeOf } from "../../../shared/facts/shapes.js";

/**
 * By the name that `client.ask("weights")` and `client.ask("matrix")` take. `from`: the tensor whose numbers are multiplied.
 *
 * @type {Object<string, {name: string, from: string}>}
 */
export const MATRICES = {
  "attn.q": { name: "W_Q", from: "attn.normed" },
  "attn.k": { name: "W_K", from: "attn.normed" },
  "attn.v": { name: "W_V", from: "attn.normed" },
  "attn.out": { name: "W_O", from: "attn.mixed" },
  "mlp.gate": { name: "W_gate", from: "mlp.normed" },
  "mlp.up": { name: "W_up", from: "mlp.normed" },
  "mlp.down": { name: "W_down", from: "mlp.hidden" },
};

/**
 * Returns the shape of a learned matrix.
 *
 * @param {string} of a key of MATRICES
 * @param {{heads: number, kvHeads: number, headDim: number, d: number, mlp: number}} dims of `blockScene`
 * @returns {[number, number]} numbers in and numbers out
 */
export function sizesOf(of, { heads: H, kvHeads: Hkv, headDim: Dh, d: D, mlp: F }) {
  const [inputs, outputs] = axesOf(/** @type {any} */ (of));
  const letters = { H, Hkv, Dh, D, F };
  return [sizeOf(inputs, letters), sizeOf(outputs, letters)];
}
