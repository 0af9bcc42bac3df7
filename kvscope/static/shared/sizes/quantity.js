/** How the calculator writes its numbers. Pure. */

import { bytesShort, fixed, integer, milliseconds, short, significant, times } from "../facts/format.js";
import { unitLabel } from "./units.js";

const SHORT_FROM = 1e12;

/** @returns {string} a result in a few characters, with its unit */
export function quantity({ value, unit }) {
  if (unit === "s") return milliseconds(1000 * value);
  if (unit === "B" || unit === "B/token") return value < 0 ? `−${bytesShort(-value)}` : bytesShort(value);
  if (unit === "FLOP/B") return `${significant(value)} FLOP/B`;
  if (unit === "×") return times(value);
  if (unit === "B/s" || unit === "FLOP" || unit === "FLOP/s") return short(value, unit);
  return unit ? `${whole(value)} ${unitLabel(unit)}` : whole(value);
}

/** @returns {string} a number of a worked example, with the three decimals that its texts print */
export const decimal = (value) => (Number.isInteger(value) ? integer(value) : fixed(value, 3));

/** @returns {string} all digits of a whole number up to 10¹², else three digits */
export function whole(value) {
  if (Math.abs(value) >= SHORT_FROM) return short(value, "").trim();
  return Number.isInteger(value) ? integer(value) : significant(value);
}
