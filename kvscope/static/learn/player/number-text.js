/** Writes the numbers of lessons. Pure. */

import { integer } from "../../shared/facts/format.js";

/** @returns {string} 46,080; 0.254; 12.5 */
export function plainNumber(value) {
  if (Number.isInteger(value)) return integer(value);
  return String(Number(value.toPrecision(4)));
}
