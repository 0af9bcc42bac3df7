/** Reads attention weights of a log, which are one byte each: u = round(255·√w) (docs/frames.md). Pure. */

const WEIGHTS = Float64Array.from({ length: 256 }, (_, code) => (code / 255) ** 2);

/** @returns {number} the weight of a byte: 0…1, within 0.004 */
export function weightOf(code) {
  return WEIGHTS[code];
}
