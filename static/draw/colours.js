/** Colours: ramps, packing for ImageData, and which are light. Pure. */

import { rgb } from "d3-color";
import { interpolateRgb, piecewise } from "d3-interpolate";
import { SHADES } from "./scales.js";

/** Black and white: with either, every colour has a contrast of 4.5 at least. */
const DARK_INK = "#000000";
const LIGHT_INK = "#ffffff";

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

/** @returns {string} what to write on a colour in, so that it is easy to read */
export function inkOn(colour) {
  return isLight(colour) ? DARK_INK : LIGHT_INK;
}

/** @returns {boolean} whether dark text is easier to read on this colour (relative luminance, WCAG 2) */
export function isLight(colour) {
  const { r, g, b } = rgb(colour);
  const linear = (channel) => (channel <= 10 ? channel / 3294.6 : ((channel / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) > 0.18;
}
