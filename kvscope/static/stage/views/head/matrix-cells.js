/** One head's attention matrix. Pure: (data, scales, size) → pixels. */

import { weightOf } from "../../../shared/log/companding.js";
import { fill, paintLane } from "../../draw/pixels.js";
import { queryBox } from "./matrix-geometry.js";

const BAND_PX = 64;
/** The least width of a cell that shows its percentage, and of one that shows the percent sign too. */
const WRITTEN_FROM_PX = 20;
const SIGN_FROM_PX = 28;
const WRITTEN_FROM_SHARE = 0.005;

/** @returns {Object} the theme of a step; if the parent run computed it, its weights have the colours of earlier steps */
export function themeOfStep(theme, inherited) {
  return inherited ? { ...theme, attentionNow: theme.attention } : theme;
}

/** @returns {{width: number, height: number}} of the matrix in device pixels */
export function matrixSize({ geometry, ratio }) {
  return { width: Math.round(geometry.width * ratio), height: Math.round(geometry.height * ratio) };
}

/** @returns {number} how many parts a matrix is painted in: bands of BAND_PX device pixels */
export function matrixParts({ geometry, ratio }) {
  return Math.ceil(matrixSize({ geometry, ratio }).height / BAND_PX);
}

/**
 * Paints the cells of the rows in sight that begin in one band. Masked cells, and those outside a sliding window, stay unpainted. Rows that are not computed yet, or
 * were read from the cache, are painted as empty.
 *
 * @param {{data: Uint32Array, width: number, height: number}} target of the matrix's size; the first part clears it
 * @param {{row: (query: number) => Uint8Array|null, firstKey: (query: number) => number}} read `row`: companded weights of a
 *   query; null: no step has computed it; `firstKey`: the first key that a query reads
 * @param {number} part below `matrixParts`, the topmost first
 * @param {{theme: Object}} scales
 * @param {{geometry: Object, ratio: number}} size
 * @returns {{y0: number, y1: number}} the device pixel rows that changed
 */
export function paintMatrixPart(target, { row, firstKey }, part, { theme }, { geometry, ratio }) {
  if (part === 0) target.data.fill(0);
  const paint = (shades, first, y0, y1, { packed: colours }) =>
    paintLane(target, {
      x0: Math.round(geometry.left * ratio),
      x1: Math.round(geometry.right * ratio),
      y0,
      y1,
      capacity: geometry.columns,
      shades: shades.subarray(geometry.keys[0], geometry.keys[1] + 1),
      from: Math.max(0, first - geometry.keys[0]),
      colours,
    });
  const { queries, keys, newest, decode, cell } = geometry;
  const places = (query, y0, y1) => {
    const xOf = (key) => Math.round((geometry.left + Math.max(0, key - keys[0]) * cell) * ratio);
    fill(target, xOf(firstKey(query)), y0, xOf(Math.min(keys[1], query) + 1), y1, theme.track);
  };
  const gap = cell * ratio >= 8 ? 1 : 0;
  const [from, to] = [part * BAND_PX, (part + 1) * BAND_PX];
  const topOf = (query) => Math.round(queryBox(geometry, query).y0 * ratio);
  let query = queries[0];
  while (query <= queries[1] && topOf(query) < from) query++;
  while (query <= queries[1] && topOf(query) < to) {
    const y0 = topOf(query);
    const strongest = gatherRows(row, geometry, query, y0, ratio);
    const y1 = Math.max(y0 + 1, Math.round(queryBox(geometry, strongest.last).y1 * ratio) - gap);
    // In prefill this step computed all rows, in decode only the newest.
    if (strongest.shades)
      paint(strongest.shades, firstKey(query), y0, y1, decode ? theme.attention : theme.attentionNow);
    else places(strongest.last, y0, y1);
    query = strongest.last + 1;
  }
  const newestTop = decode ? topOf(newest) : to;
  if (newestTop >= from && newestTop < to)
    paint(row(newest), firstKey(newest), newestTop, Math.round(geometry.bottom * ratio), theme.attentionNow);
  return { y0: from, y1: target.height };
}

/** Rows that begin on the same device pixel, as one row of their largest weights. */
function gatherRows(row, geometry, first, y0, ratio) {
  let last = first;
  while (last < geometry.queries[1] && Math.round(queryBox(geometry, last + 1).y0 * ratio) === y0) last++;
  if (last === first || !row(last)) return { shades: row(last), last };
  const shades = new Uint8Array(last + 1);
  for (let query = first; query <= last; query++) {
    const weights = row(query) ?? [];
    for (let key = 0; key < weights.length; key++) if (weights[key] > shades[key]) shades[key] = weights[key];
  }
  return { shades, last };
}

/** Draws the matrix on a canvas: its cells, and percentages in the newest row. Masked cells stay empty. */
export function drawMatrix(context, painted, { row, theme }, { geometry }) {
  context.clearRect(0, 0, geometry.width, geometry.height);
  context.drawImage(painted, 0, 0, geometry.width, geometry.height);
  if (geometry.decode && geometry.cell >= WRITTEN_FROM_PX) writeNewest(context, row(geometry.newest), geometry, theme);
}

function writeNewest(context, shades, { keys, left, cell, newestTop, bottom }, theme) {
  const sign = cell >= SIGN_FROM_PX ? "%" : "";
  context.font = `650 12px ${theme.sans}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let key = keys[0]; key <= Math.min(keys[1], shades.length - 1); key++) {
    const weight = weightOf(shades[key]);
    if (weight < WRITTEN_FROM_SHARE) continue;
    context.fillStyle = theme.attentionNow.ink[shades[key]];
    context.fillText(
      `${Math.round(weight * 100)}${sign}`,
      left + (key - keys[0] + 0.5) * cell,
      (newestTop + bottom) / 2,
    );
  }
}
