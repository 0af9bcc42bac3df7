/**
 * Geometry of one head's attention matrix in CSS pixels, and the cell under a point. Pure.
 *
 * Rows are queries, newest at the bottom; columns are keys. A line separates the rows of prefill from those of decode, and the
 * newest row of a decode step is larger. The labels of the keys are on the diagonal.
 */

import { cellsAt } from "../../draw/pixels.js";

const MOST_CELL_PX = 48;
const LINE_GAP_PX = 10;
const NEWEST_FACTOR = 1.25;
const NEWEST_LEAST_PX = 22;
const NEWEST_MOST_PX = 48;
/** How far the label of a key, tilted by 45°, reaches to the right of its column's middle and above its cell. */
export const KEY_LABEL_PX = 50;
/** Assumed size of a cell before it is known. */
const CELL_ROOM_PX = 24;

/**
 * Places the rows and columns of the matrix.
 *
 * @param {Object} shape
 * @param {number} shape.width room in CSS pixels
 * @param {number} shape.height room in CSS pixels
 * @param {number} shape.promptLength rows of prefill
 * @param {number} shape.newest the last row in sight
 * @param {[number, number]} shape.queries rows to show, first and last; the newest row is always shown
 * @param {[number, number]} shape.keys columns to show, first and last
 * @param {{left: number, top: number, right: number, bottom: number}} shape.margin room for labels
 * @param {{x0: number, y1: number}[]} [shape.taken] boxes in the upper right corner, by their lower left corners: they
 *   lie over the masked half, or the matrix ends before them
 * @param {boolean} [shape.plain] all rows alike and no line, for a small picture
 */
export function matrixGeometry({
  width,
  height,
  promptLength,
  newest,
  queries,
  keys,
  margin,
  taken = [],
  plain = false,
}) {
  const decode = newest >= promptLength;
  const listed = [queries[0], Math.min(queries[1], decode ? newest - 1 : newest)];
  const listedRows = listed[1] - listed[0] + 1;
  const columns = keys[1] - keys[0] + 1;
  const line = decode && !plain ? LINE_GAP_PX : 0;
  const whole = queries[0] === 0 && keys[0] === 0;
  const edge = Math.min(
    width - margin.right,
    ...taken.filter((box) => !whole || meets(box, margin)).map(({ x0 }) => x0 - margin.right),
  );
  const free = { x: edge - margin.left, y: height - margin.top - margin.bottom - line };
  const larger = (cell) => Math.min(NEWEST_MOST_PX, Math.max(NEWEST_LEAST_PX, cell * NEWEST_FACTOR));
  const newestFor = (cell) => (decode ? (plain ? cell : larger(cell)) : 0);
  const tight = Math.min(MOST_CELL_PX, free.x / columns, free.y / Math.max(1, listedRows));
  const rows = Math.max(1, listedRows + (plain && decode ? 1 : 0));
  const cell = Math.max(0.05, Math.min(tight, (free.y - (plain ? 0 : newestFor(tight))) / rows));
  const newestHeight = newestFor(cell);
  const before = Math.max(0, Math.min(listed[1], promptLength - 1) - listed[0] + 1);
  const top = margin.top;
  const lineY = decode ? top + before * cell + line / 2 : null;
  const listedBottom = top + listedRows * cell + (before < listedRows || !decode ? line : 0);
  const newestTop = decode ? (before === listedRows ? listedBottom + line : listedBottom) : null;
  return {
    width,
    height,
    cell,
    columns,
    keys,
    queries: listed,
    promptLength,
    newest,
    decode,
    left: margin.left,
    right: margin.left + columns * cell,
    top,
    lineY,
    lineGap: line,
    newestTop,
    bottom: decode ? newestTop + newestHeight : listedBottom,
  };
}

/** @returns {boolean} whether a box overlaps the diagonal, or the key labels above it, of a matrix that begins at the margin */
function meets({ x0, y1 }, { left, top }) {
  return x0 < left + (y1 - top) + 2 * KEY_LABEL_PX + CELL_ROOM_PX;
}

/** @returns {{y0: number, y1: number}|null} a query's row; null if it is not in sight */
export function queryBox(geometry, query) {
  const { cell, top, newest, decode, newestTop, bottom, queries, promptLength, lineGap } = geometry;
  if (decode && query === newest) return { y0: newestTop, y1: bottom };
  if (query < queries[0] || query > queries[1]) return null;
  const y0 = top + (query - queries[0]) * cell + (decode && query >= promptLength ? lineGap : 0);
  return { y0, y1: y0 + cell };
}

/** @returns {{x0: number, x1: number}|null} a key's column; null if it is not in sight */
export function keyBox(geometry, key) {
  const { keys, left, cell } = geometry;
  if (key < keys[0] || key > keys[1]) return null;
  return { x0: left + (key - keys[0]) * cell, x1: left + (key - keys[0] + 1) * cell };
}

/** @returns {number} the upper edge of a key's topmost cell in sight, where its label is */
export function topOfKey(geometry, key) {
  const { queries, newest } = geometry;
  if (key > queries[1]) return queryBox(geometry, newest)?.y0 ?? geometry.bottom;
  return queryBox(geometry, Math.max(key, queries[0])).y0;
}

/**
 * @returns {{queries: number[], keys: number[], masked: boolean}|null} the cells under a point, first
 *   and last inclusive: one pixel may show several. `masked`: all of them are masked.
 */
export function hitMatrix(geometry, x, y) {
  const columns = cellsAt(x, geometry.left, geometry.right, geometry.columns, geometry.columns);
  const queries = queriesAt(geometry, y);
  if (!columns || !queries) return null;
  const keys = columns.map((column) => column + geometry.keys[0]);
  return { queries, keys, masked: keys[0] > queries[1] };
}

/** @returns {{queries: number[], keys: number[], masked: boolean, row: boolean}|null} the whole row whose label is under a point */
export function hitRowLabel(geometry, x, y) {
  const queries = x < geometry.left ? queriesAt(geometry, y) : null;
  return queries && { queries, keys: [0, queries[1]], masked: false, row: true };
}

function queriesAt(geometry, y) {
  const { newest, decode, newestTop, bottom, queries, promptLength, top, cell, lineGap, lineY } = geometry;
  if (decode && y >= newestTop && y < bottom) return [newest, newest];
  const shift = decode && y > lineY ? lineGap : 0;
  if (shift && y < lineY + lineGap / 2) return null;
  const rows = queries[1] - queries[0] + 1;
  const span = cellsAt(y - shift, top, top + rows * cell, rows, rows);
  if (!span) return null;
  const [first, last] = span.map((row) => row + queries[0]);
  if (shift ? first < promptLength : decode && first >= promptLength) return null;
  return [first, last];
}

/**
 * A window of at most `size` cells around a position, inside 0…last.
 *
 * @returns {[number, number]} first and last, inclusive
 */
export function windowAround(place, size, last) {
  if (last + 1 <= size) return [0, last];
  const first = Math.min(Math.max(0, place - Math.floor(size / 2)), last + 1 - size);
  return [first, first + size - 1];
}

/** From this width on (head.css has the same widths), bars and heads are in a column beside the matrix. */
const COLUMN_FROM_PX = 640;
/** From this width on, only the bars; below it, both are under the matrix. */
const BARS_FROM_PX = 520;
const COLUMN_PX = 198;
const BARS = { wide: 240, narrow: 196, height: 158 };

/**
 * Returns the boxes that lie over the masked half of the matrix.
 *
 * @param {{width: number, height: number}} size of the room for the matrix
 * @returns {{x0: number, y1: number}[]} as `taken` of `matrixGeometry`
 */
export function takenFrom({ width, height }) {
  if (width >= COLUMN_FROM_PX)
    return [
      { x0: width - BARS.wide, y1: BARS.height },
      { x0: width - COLUMN_PX, y1: height },
    ];
  return width >= BARS_FROM_PX ? [{ x0: width - BARS.narrow, y1: BARS.height }] : [];
}
