/** Whole numbers that a reader types. Pure. */

import { integer } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";

const DIGITS = /^\d{1,15}$/;
/** Characters that readers type between thousands. */
const SEPARATORS = /[\s,.'’\u202f\u00a0_]/g;

/**
 * @param {string} text
 * @param {{name: string, least: number, most: number}} field
 * @returns {{value: number}|{problem: string}}
 */
export function readWhole(text, { name, least, most }) {
  const digits = text.replace(SEPARATORS, "");
  if (!DIGITS.test(digits)) {
    return { problem: msg`${name} is “${text}”; enter a whole number from ${integer(least)} to ${integer(most)}.` };
  }
  const value = Number(digits);
  if (value < least || value > most) {
    return { problem: msg`${name} is ${integer(value)}; it must be from ${integer(least)} to ${integer(most)}.` };
  }
  return { value };
}
