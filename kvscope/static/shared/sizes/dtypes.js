/** How numbers are stored, and how many bytes a vector of them takes. Pure. */

import { msg } from "../words/msg.js";
import { constant, derived, joined, stated, term } from "./arithmetic.js";

/** @type {Object<string, number>} bits of one number; fp8 and int8 are the same size */
export const BITS = { fp32: 32, bf16: 16, fp16: 16, fp8: 8, int8: 8, int4: 4, mxfp4: 4, nvfp4: 4 };

/** Numbers that share a scale of one byte, for formats that define one (OCP Microscaling 1.0; NVFP4 of Blackwell). */
export const SCALED = { mxfp4: 32, nvfp4: 16 };

/** How many numbers can share one scale; 0: scales are not counted. */
export const GROUPS = [0, 32, 64, 128];

const SCALE_BYTES = 2;

/**
 * @typedef {Object} Stored
 * @property {string} dtype a key of `BITS`
 * @property {Stored} [experts] how the experts are stored, if differently from the rest
 * @property {number} [group] numbers that share a scale, each scale of 2 bytes and without a zero point; 0: not counted.
 *   Formats in `SCALED` have
 *   their own
 */

/**
 * Computes the bytes of a vector: numbers × bits ÷ 8, rounded up, plus one scale for each group of numbers; the last group
 * may be incomplete.
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
  const each = SCALED[dtype] ?? group;
  if (each === 0) return plain;
  const shared = term(msg`numbers per scale`, each);
  const scales = stated(Math.ceil(numbers.value / each), "", `⌈${numbers.name} ÷ ${shared.name}⌉`, [numbers, shared]);
  return joined("+", "B", [
    derived(msg`numbers`, plain),
    derived(msg`scales`, joined("×", "B", [derived(msg`scales`, scales), constant(dtype in SCALED ? 1 : SCALE_BYTES)])),
  ]);
}
