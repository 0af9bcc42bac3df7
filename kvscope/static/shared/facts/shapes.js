/**
 * Shapes in the letters of `model/transformer.py`, and what the letters stand for in a model and a pass. Pure.
 *
 * T rows, D width, F width of the MLP, H query heads, Hkv KV heads, G query heads of each KV head, Dh head dimension,
 * V vocabulary, N rows with logits, B sequences, Q rows of each, K keys, E experts, X experts of a row, C positions.
 */

import { unhandled } from "./unhandled.js";

/** The engine's hook points, named within their layer; a test compares the table with `HookPoint`. */
const HOOK_POINTS = {
  embedded: "T,D",
  resid_in: "T,D",
  "attn.normed": "T,D",
  "attn.q_raw": "T,H,Dh",
  "attn.k_raw": "T,Hkv,Dh",
  "attn.q": "T,H,Dh",
  "attn.k": "T,Hkv,Dh",
  "attn.v": "T,Hkv,Dh",
  "attn.q_rot": "T,H,Dh",
  "attn.k_rot": "T,Hkv,Dh",
  "attn.scores": "B,Hkv,G,Q,K",
  "attn.weights": "B,Hkv,G,Q,K",
  "attn.mixed": "T,H,Dh",
  "attn.raw_change": "T,D",
  "attn.change": "T,D",
  resid_mid: "T,D",
  "mlp.normed": "T,D",
  "mlp.probabilities": "T,E",
  "mlp.chosen": "T,X",
  "mlp.shares": "T,X",
  "mlp.gate": "T,F",
  "mlp.raised": "T,F",
  "mlp.hidden": "T,F",
  "mlp.raw_change": "T,D",
  "mlp.change": "T,D",
  resid_out: "T,D",
  final: "N,D",
};

/** The learned matrices, numbers in before numbers out; a test compares them with the checkpoint's layout. */
const MATRICES = {
  embed: "V,D",
  positions: "C,D",
  "attn.q": "D,H*Dh",
  "attn.k": "D,Hkv*Dh",
  "attn.v": "D,Hkv*Dh",
  "attn.out": "H*Dh,D",
  "mlp.gate": "D,F",
  "mlp.up": "D,F",
  "mlp.down": "F,D",
  lm_head: "D,V",
};

/**
 * A product or a sum of letters, such as "H*Dh" or "(H+2Hkv)*Dh".
 *
 * @typedef {string} Axis
 */

/**
 * Returns the axes of the tensor at a hook point, in the engine's order.
 *
 * @param {keyof typeof HOOK_POINTS} point
 * @returns {Axis[]}
 * @throws {RangeError} for an unknown hook point
 */
export const axesAt = (point) => (HOOK_POINTS[point] ?? unhandled(/** @type {never} */ (point))).split(",");

/**
 * Returns the axes of the tensor at a hook point as textbooks order them for one sequence: heads, rows, numbers.
 *
 * @param {keyof typeof HOOK_POINTS} point
 * @returns {Axis[]}
 */
export function textbookAxesAt(point) {
  const axes = axesAt(point).join(",").replace("B,Hkv,G,Q", "H,T").split(",");
  const isOfHeads = (axis) => axis.startsWith("H");
  return [...axes.filter(isOfHeads), ...axes.filter((axis) => !isOfHeads(axis))];
}

/**
 * Returns [numbers in, numbers out] of a learned matrix.
 *
 * @param {keyof typeof MATRICES} matrix "attn.q" and so on are named as `client.ask("matrix")` takes them
 * @returns {Axis[]}
 * @throws {RangeError} for an unknown matrix
 */
export const axesOf = (matrix) => (MATRICES[matrix] ?? unhandled(/** @type {never} */ (matrix))).split(",");

/**
 * @param {Object} model of an `open` frame
 * @param {{rows: number, keys: number}} pass its rows, and the positions that its last row can attend to
 * @returns {Object<string, number>} what each letter stands for in a pass of one sequence
 */
export function lettersOf(model, { rows, keys }) {
  const { d, d_mlp, heads, kv_heads, head_dim, vocab, context, experts } = model;
  return {
    ...{ D: d, F: d_mlp, H: heads, Hkv: kv_heads, G: heads / kv_heads, Dh: head_dim, V: vocab, C: context },
    ...{ E: experts?.count, X: experts?.chosen },
    ...{ T: rows, Q: rows, N: 1, B: 1, K: keys },
  };
}

/** A term of an axis: "2Hkv". */
const TERM = /^(\d*)([A-Z]\w*)$/i;

/**
 * @param {Axis} axis
 * @param {Object<string, number>} letters
 * @returns {number} its size
 */
export function sizeOf(axis, letters) {
  const factors = axis.split("*").map((factor) =>
    factor
      .replace(/[()]/g, "")
      .split("+")
      .map((term) => {
        const [, times, letter] = TERM.exec(term);
        return Number(times || 1) * letters[letter];
      })
      .reduce((sum, size) => sum + size),
  );
  return productOf(factors);
}

/** @returns {number} how many numbers a tensor of this shape has; a scalar has one */
export const productOf = (sizes) => sizes.reduce((product, size) => product * size, 1);
