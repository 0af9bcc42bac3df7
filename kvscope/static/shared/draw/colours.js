/** Colours: ramps, packing for ImageData, and contrast. Pure. */

import { rgb } from "d3-color";
import { SHADES } from "./scales.js";

/** Black and white: every colour has a contrast of at least 4.5 with one of them. */
const DARK_INK = "#000000";
const LIGHT_INK = "#ffffff";

/** @returns {string} the colour at `share` 0…1 between two colours, separately for red, green, blue and opacity */
export function between(from, to, share) {
  const [a, b] = [rgb(from), rgb(to)];
  const at = (channel) => a[channel] + share * (b[channel] - a[channel]);
  return rgb(at("r"), at("g"), at("b"), at("opacity")).formatRgb();
}

/** @returns {string[]} 256 CSS colours through the given stops, evenly spaced */
export function ramp(stops) {
  const colours = stops.map((stop) => rgb(stop));
  const parts = colours.length - 1;
  return Array.from({ length: SHADES }, (_, i) => {
    const at = (i / (SHADES - 1)) * parts;
    const part = Math.min(parts - 1, Math.floor(at));
    return between(colours[part], colours[part + 1], at - part);
  });
}

/** @returns {Uint32Array} CSS colours as 0xAABBGGRR */
export function packed(colours) {
  return Uint32Array.from(colours, pack);
}

export function pack(colour) {
  const { r, g, b, opacity } = rgb(colour);
  return ((Math.round(opacity * 255) << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;
}

/** @returns {string} the text colour that is easy to read on a colour */
export function inkOn(colour) {
  return isLight(colour) ? DARK_INK : LIGHT_INK;
}

/** @returns {boolean} whether dark text is easier to read on this colour (relative luminance, WCAG 2) */
export function isLight(colour) {
  const { r, g, b } = rgb(colour);
  const linear = (channel) => (channel <= 10 ? channel / 3294.6 : ((channel / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) > 0.18;
}
