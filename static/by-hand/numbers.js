/** How numbers of a worked example are written: three decimals, as long as they have room. Pure. */

import { fixed, integer, withExponent } from "../shared/facts/format.js";

const DECIMALS = 3;
const LONGEST = 1_000;
const LONGEST_WHOLE = 10_000_000;

/** @returns {string} */
export function cellText(value) {
  if (value === Number.NEGATIVE_INFINITY) return "−∞";
  const size = Math.abs(value);
  if (size < LONGEST) return fixed(value, DECIMALS);
  return size < LONGEST_WHOLE ? integer(value) : withExponent(value);
}

/** @returns {number|null} what somebody typed, with a comma or a point; null where it is no number */
export function typedNumber(text) {
  const plain = text.trim().replace("−", "-").replace(",", ".");
  return /^[-+]?(\d+\.?\d*|\.\d+)$/.test(plain) ? Number(plain) : null;
}
