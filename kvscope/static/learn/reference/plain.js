/** Writes numbers of any size. Pure. */

import { integer, withExponent } from "../../shared/facts/format.js";

const DIGITS = 9;
const DIGITS_BEFORE_EXPONENT = 4;

/** @returns {string} up to nine digits, very large and small ones with an exponent */
export function plain(number) {
  if (!Number.isFinite(number)) return String(number).replace("-", "−").replace("Infinity", "∞");
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-5 || size >= 1e9)) return withExponentOf(number);
  if (Number.isInteger(number)) return integer(number);
  return String(Number(number.toPrecision(DIGITS))).replace("-", "−");
}

function withExponentOf(number) {
  const [, exponent] = number.toExponential().split("e");
  const factor = Number((number / 10 ** Number(exponent)).toPrecision(DIGITS_BEFORE_EXPONENT));
  return withExponent(10 ** Number(exponent)).replace(/^1/, String(factor).replace("-", "−"));
}
