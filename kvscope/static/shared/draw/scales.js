/** Scales from values to shades. Pure. */

export const SHADES = 256;

/** Shortest distance between the ends of a norm scale, as a ratio, so that similar values do not become black and white. */
const LEAST_RATIO = 1.5;

/**
 * Returns the ends of a scale without extreme values: the 2nd and 90th percentile, to two significant digits. In a short prompt, one
 * value in ten is a massive activation of the first token.
 *
 * @param {Iterable<number>} values positive; others are left out
 * @returns {{low: number, high: number}}
 */
export function robustRange(values) {
  const sorted = Float64Array.from(values)
    .filter((value) => value > 0 && Number.isFinite(value))
    .sort();
  if (sorted.length === 0) return { low: 1, high: 10 };
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const low = Number(at(0.02).toPrecision(2));
  return { low, high: Math.max(Number(at(0.9).toPrecision(2)), Number((low * LEAST_RATIO).toPrecision(2))) };
}

/** @returns {(value: number) => number} position 0…1 on a logarithmic scale, clamped */
export function logScale({ low, high }) {
  const span = Math.log(high / low);
  return (value) => (value > low ? Math.min(1, Math.log(value / low) / span) : 0);
}

/** @returns {number} shade 0…255 of a position 0…1 */
export function shade(position) {
  return Math.round(position * (SHADES - 1));
}
