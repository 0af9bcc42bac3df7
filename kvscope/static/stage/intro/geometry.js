/** Positions of the intro's columns: one per token, layers from the bottom up. Pure; CSS pixels. */

const WIDEST_PITCH = 106;
const SIDE = 46;
/** Width of the layer's name beside the newest column. */
const END = 64;
const NAMES = 64;
/** Space above the columns: share of the height, and least pixels. */
const ABOVE = 0.26;
const ABOVE_PX = 124;
/** Least height of the columns. */
const COLUMNS_PX = 60;
/** Shares of a token's width: its residual column, then K and V. */
const RESIDUAL = 0.5;
const SHELF = 0.15;

/**
 * @param {{width: number, height: number}} size
 * @param {{positions: number, layers: number}} count `positions`: most that are shown
 * @returns {Object} `x(position)`: left edge of its column; `center(position)`; `y(layer)`: upper edge of its cell;
 *   `residual`, `shelf`: widths; `cell`: height of a cell, its gap included
 */
export function introGeometry({ width, height }, { positions, layers }) {
  const pitch = Math.min(WIDEST_PITCH, (width - SIDE - END) / positions);
  const left = Math.max(SIDE, (width - END + SIDE - pitch * positions) / 2);
  const bottom = height - NAMES;
  const top = Math.min(bottom - COLUMNS_PX, Math.max(ABOVE_PX, height * ABOVE));
  const cell = (bottom - top) / layers;
  const x = (position) => left + position * pitch;
  return {
    width,
    height,
    left,
    top,
    bottom,
    pitch,
    cell,
    layers,
    positions,
    residual: pitch * RESIDUAL,
    shelf: pitch * SHELF,
    x,
    center: (position) => x(position) + (pitch * RESIDUAL) / 2,
    shelfAt: (position) => x(position) + pitch * (RESIDUAL + 0.04),
    y: (layer) => bottom - (layer + 1) * cell,
  };
}

/** @returns {number} n if every nth label fits and each takes `least` pixels */
export function everyNth(pitch, least) {
  return Math.max(1, Math.ceil(least / pitch));
}
