/** Signed vectors as lines of tiles: one hue below zero, one above; each line is scaled to its largest absolute value. Pure. */

import { fill, gapFor, pixels } from "./pixels.js";

/** @returns {number} shade 0…255 of a value, 0 in the middle */
export function signedShade(value, largest) {
  if (!(largest > 0)) return 128;
  return Math.round(127.5 + 127.5 * Math.max(-1, Math.min(1, value / largest)));
}

/** @returns {number} the largest absolute value */
export function largestSize(values) {
  let largest = 0;
  for (const value of values) largest = Math.max(largest, Math.abs(value));
  return largest;
}

/**
 * @param {ArrayLike<number>[]} lines equally long
 * @param {{theme: Object}} scales
 * @param {{width: number, lineHeight: number, lineGap: number, ratio: number}} size CSS pixels
 */
export function paintTiles(lines, { theme }, { width, lineHeight, lineGap, ratio }) {
  const target = pixels(
    Math.round(width * ratio),
    Math.round((lines.length * (lineHeight + lineGap) - lineGap) * ratio),
  );
  lines.forEach((values, line) => {
    const largest = largestSize(values);
    const y0 = Math.round(line * (lineHeight + lineGap) * ratio);
    const y1 = y0 + Math.round(lineHeight * ratio);
    const tile = target.width / values.length;
    const gap = Math.min(1, gapFor(tile));
    for (let i = 0; i < values.length; i++) {
      const left = Math.round(i * tile);
      const right = Math.max(left + 1, Math.round((i + 1) * tile) - gap);
      fill(target, left, y0, right, y1, theme.signed.packed[signedShade(values[i], largest)]);
    }
  });
  return target;
}
