/** Formats and parses the numbers of a worked example, with three decimals below 1,000. Pure. */

import { fixed, integer, withExponent } from "../shared/facts/format.js";

export const DECIMALS = 3;
const LONGEST = 1_000;
const LONGEST_WHOLE = 10_000_000;

/** @returns {string} */
export function cellText(value) {
  if (value === Number.NEGATIVE_INFINITY) return "−∞";
  const size = Math.abs(value);
  if (size < LONGEST) return fixed(value, DECIMALS);
  return size < LONGEST_WHOLE ? integer(value) : withExponent(value);
}

/** @returns {number|null} a typed number with a decimal comma or point; null for any other text */
export function typedNumber(text) {
  const plain = text.trim().replace("−", "-").replace(",", ".");
  return /^[-+]?(\d+\.?\d*|\.\d+)$/.test(plain) ? Number(plain) : null;
}
