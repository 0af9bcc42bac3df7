/** Scales from values to 0…1 and to colours. Pure. */

import { rgb } from "d3-color";
import { interpolateRgb, piecewise } from "d3-interpolate";

export const SHADES = 256;

/** Shortest distance between the ends of a norm scale, as a ratio, so that equal values do not become all or nothing. */
const LEAST_RATIO = 1.5;

/**
 * Ends of a scale that a few extreme values do not stretch: the 2nd and 98th percentile, two significant digits.
 *
 * @param {Iterable<number>} values positive; others are left out
 * @returns {{low: number, high: number}}
 */
export function robustRange(values) {
  const sorted = Float64Array.from(Array.from(values).filter((value) => value > 0 && Number.isFinite(value))).sort();
  if (sorted.length === 0) return { low: 1, high: 10 };
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const low = Number(at(0.02).toPrecision(2));
  return { low, high: Math.max(Number(at(0.98).toPrecision(2)), Number((low * LEAST_RATIO).toPrecision(2))) };
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

/** @returns {string[]} 256 CSS colours through the given stops, evenly spaced */
export function ramp(stops) {
  const at = piecewise(interpolateRgb, stops);
  return Array.from({ length: SHADES }, (_, i) => at(i / (SHADES - 1)));
}

/** @returns {Uint32Array} CSS colours as 0xAABBGGRR */
export function packed(colours) {
  return Uint32Array.from(colours, pack);
}

export function pack(colour) {
  const { r, g, b, opacity } = rgb(colour);
  return ((Math.round(opacity * 255) << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;
}

/** @returns {boolean} whether dark text is easier to read on this colour (relative luminance, WCAG 2) */
export function isLight(colour) {
  const { r, g, b } = rgb(colour);
  const linear = (channel) => (channel <= 10 ? channel / 3294.6 : ((channel / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) > 0.18;
}
