/** What of the columns is under a point. Pure; CSS pixels. */

/**
 * @param {Object} geometry of `introGeometry`
 * @param {{x: number, y: number}} point
 * @param {number} count columns that are drawn
 * @returns {{position: number, layer: number}|null} null outside the columns
 */
export function placeAt({ left, pitch, residual, bottom, cell, layers }, { x, y }, count) {
  const position = Math.floor((x - left) / pitch);
  const layer = Math.floor((bottom - y) / cell);
  const inside = position >= 0 && position < count && layer >= 0 && layer < layers;
  return inside && x - left - position * pitch <= residual ? { position, layer } : null;
}
