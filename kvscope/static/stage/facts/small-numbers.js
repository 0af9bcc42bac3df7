/** Formats very small numbers. Pure. */

import { significant } from "../../shared/facts/format.js";

/** @returns {string} 0.0000407 → "4.1×10⁻⁵"; from 0.001 on as `significant` */
export function small(value) {
  if (value === 0) return "0";
  if (value >= 0.001) return significant(value);
  const [digits, exponent] = value.toExponential(1).split("e-");
  return `${digits}×10⁻${[...exponent].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`;
}
