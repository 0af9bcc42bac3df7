/** How numbers are stored, and how many bytes a vector of them takes. Pure. */

import { msg } from "../shared/words/msg.js";
import { constant, derived, joined, stated, term } from "./arithmetic.js";

/** @type {Object<string, number>} bits of one number; fp8 and int8 are the same size */
export const BITS = { fp32: 32, bf16: 16, fp16: 16, fp8: 8, int8: 8, int4: 4 };

/** How many numbers can share one scale; 0: scales are not counted. */
export const GROUPS = [0, 32, 64, 128];

const SCALE_BYTES = 2;

/**
 * @typedef {Object} Stored
 * @property {string} dtype a key of `BITS`
 * @property {number} [group] numbers that share a scale, each scale of 2 bytes and without a zero point; 0: not counted
 */

/**
 * Bytes of a vector: numbers × bits ÷ 8, rounded up to whole bytes, plus 2 for each group that shares a scale, the last one perhaps incomplete.
 *
 * @param {import("./arithmetic.js").Term} numbers
 * @param {Stored} stored
 * @returns {import("./arithmetic.js").Result} B
 */
export function vectorBytes(numbers, { dtype, group = 0 }) {
  const bytes = term(msg`bytes per number`, BITS[dtype] / 8);
  const exact = joined("×", "B", [numbers, bytes]);
  const plain = Number.isInteger(exact.value)
    ? exact
    : stated(Math.ceil(exact.value), "B", `⌈${exact.formula}⌉`, exact.terms);
  if (group === 0) return plain;
  const shared = term(msg`numbers per scale`, group);
  const scales = stated(Math.ceil(numbers.value / group), "", `⌈${numbers.name} ÷ ${shared.name}⌉`, [numbers, shared]);
  return joined("+", "B", [
    derived(msg`numbers`, plain),
    derived(msg`scales`, joined("×", "B", [derived(msg`scales`, scales), constant(SCALE_BYTES)])),
  ]);
}
