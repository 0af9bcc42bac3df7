/** Numbers that a reader types, with a point or an exponent. Pure. */

import { msg } from "../../shared/words/msg.js";

const FORM = /^[-+−]?(\d+\.?\d*|\.\d+)(e[-+−]?\d+)?$/i;

/**
 * @param {string} text
 * @param {string} name of the field
 * @returns {{value: number}|{problem: string}}
 */
export function readNumber(text, name) {
  const value = FORM.test(text) ? Number(text.replaceAll("−", "-")) : Number.NaN;
  return Number.isFinite(value)
    ? { value }
    : { problem: msg`${name} is “${text}”; enter a number such as 0.1, −2.5 or 3e-8.` };
}
