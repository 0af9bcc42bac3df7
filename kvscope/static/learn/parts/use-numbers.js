/** Whole numbers of a page's fields: the last valid value of each, and the problem of an invalid text. */

import { useRef } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";

const DIGITS = /^\d{1,15}$/;
/** Characters that readers type between thousands. */
const SEPARATORS = /[\s,.'’\u202f\u00a0_]/g;

/**
 * @param {Object<string, string>} texts of `useAddress`
 * @param {Object<string, {name: string, least: number, most: number, first: number}>} fields `first`: the value if the first text is invalid
 * @returns {{values: Object<string, number>, problems: Object<string, string>}}
 */
export function useNumbers(texts, fields) {
  const last = useRef({});
  const problems = {};
  for (const [id, field] of Object.entries(fields)) {
    const read = readWhole(texts[id], field);
    if ("value" in read) last.current[id] = read.value;
    else problems[id] = read.problem;
    last.current[id] ??= field.first;
  }
  return { values: { ...last.current }, problems };
}

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
