/**
 * Positions on the map, in CSS pixels, and the cell under a point. Pure.
 *
 * Rows are layers, L0 at the bottom, shared by three groups of columns: residual stream, attention, KV cache.
 */

import { cellsAt } from "../draw/pixels.js";

const HEAD_PX = 50;
/** Height below the rows: tilted tokens, beside them the heads' names and a legend of three lines. */
const COLUMN_LABELS_PX = 84;
const GUTTER_PX = 40;
const GAP_PX = 34;
/** Width right of the cache: labels of its lanes in the lens. */
const END_PX = 20;
const COMPACT_GUTTER_PX = 32;
/** Width beside the layers' names, if some layers have a sliding window: "global" or "local", or a dot for global. */
const KIND_PX = 40;
const COMPACT_KIND_PX = 12;
/** Height of the line of the legend that explains the dot. */
const COMPACT_KINDS_PX = 18;
const COMPACT_GAP_PX = 12;
const COMPACT_LEGEND_PX = 62;
const COMPACT_BELOW_PX = 560;
const MOST_ROW_PX = 40;
const SHARES = { residual: 0.25, attention: 0.4, cache: 0.35 };
/** Least height of a layer, so that layers remain distinct. */
const LEAST_ROW_PX = 5;

/**
 * @param {{width: number, height: number, layers: number, heads: number, kvHeads: number, columns: number, windows?: Object|null}} shape
 *   `columns`: positions that have room; `windows`: of the model
 */
export function mapGeometry({ width, height, layers, heads, kvHeads, columns, windows = null }) {
  const compact = width < COMPACT_BELOW_PX;
  const kind = windows ? (compact ? COMPACT_KIND_PX : KIND_PX) : 0;
  const gutter = (compact ? COMPACT_GUTTER_PX : GUTTER_PX) + kind;
  const gap = compact ? COMPACT_GAP_PX : GAP_PX;
  const free = Math.max(60, width - gutter - 2 * gap - END_PX);
  const below = COLUMN_LABELS_PX + (compact ? COMPACT_LEGEND_PX + (windows ? COMPACT_KINDS_PX : 0) : 0);
  const rowPitch = Math.min(MOST_ROW_PX, Math.max(LEAST_ROW_PX, (height - HEAD_PX - below) / layers));
  const rowGap = rowPitch >= 10 ? 2 : 1;
  const residual = { x0: gutter, x1: gutter + free * SHARES.residual };
  const attention = { x0: residual.x1 + gap, x1: residual.x1 + gap + free * SHARES.attention };
  const cache = { x0: attention.x1 + gap, x1: attention.x1 + gap + free * SHARES.cache };
  const headPitch = (attention.x1 - attention.x0) / heads;
  return {
    width,
    height: Math.max(height, HEAD_PX + rowPitch * layers + below),
    compact,
    top: HEAD_PX,
    bottom: HEAD_PX + rowPitch * layers,
    rowPitch,
    rowGap,
    layers,
    heads,
    kvHeads,
    columns,
    windows,
    kind,
    residual,
    attention,
    cache,
    headPitch,
    headGap: heads === 1 ? 0 : headPitch >= 20 ? 3 : 1,
  };
}

/** @returns {{y0: number, y1: number}} a layer's row, without the gap under it */
export function rowOf(geometry, layer) {
  const y0 = geometry.top + (geometry.layers - 1 - layer) * geometry.rowPitch;
  return { y0, y1: y0 + geometry.rowPitch - geometry.rowGap };
}

/** @returns {{x0: number, x1: number}} a head's strip */
export function stripOf(geometry, head) {
  const x0 = geometry.attention.x0 + head * geometry.headPitch;
  return { x0, x1: x0 + geometry.headPitch - geometry.headGap };
}

/** @returns {{x0: number, x1: number}} a position's column in the residual or cache group, without its gap */
export function columnOf(geometry, group, position) {
  const { x0, x1 } = geometry[group];
  const pitch = (x1 - x0) / geometry.columns;
  return { x0: x0 + position * pitch, x1: x0 + (position + 1) * pitch };
}

/** @returns {number} y of the halfway line between K and V in a row */
export function halfOf({ y0, y1 }) {
  return (y0 + y1) / 2;
}

/**
 * Returns the cell under a point.
 *
 * @param {Object} geometry
 * @param {{positions: number, prefill: boolean}} shown `positions` shown; `prefill`: a strip is a triangle
 * @returns {null
 *   | {group: string, layer: number, positions: number[]}
 *   | {group: string, layer: number, head: number, keys: number[], queries: number[]}
 *   | {group: string, layer: number, kind: string, kvHead: number, positions: number[]}}
 *   `group`: "residual", "attention" or "cache"; `kind`: "K" or "V"; pairs are first and last, both inclusive, because one pixel may have several cells
 */
export function hitMap(geometry, shown, x, y) {
  const fromTop = Math.floor((y - geometry.top) / geometry.rowPitch);
  const layer = geometry.layers - 1 - fromTop;
  if (y < geometry.top || layer < 0 || layer >= geometry.layers) return null;
  const row = rowOf(geometry, layer);
  return (
    hitResidual(geometry, shown, layer, x) ??
    hitAttention(geometry, shown, layer, row, x, y) ??
    hitCache(geometry, shown, layer, row, x, y)
  );
}

function hitResidual({ residual, columns }, { positions }, layer, x) {
  const span = cellsAt(x, residual.x0, residual.x1, columns, positions);
  return span && { group: "residual", layer, positions: span };
}

function hitAttention(geometry, { positions, prefill }, layer, row, x, y) {
  const { attention, headPitch, heads } = geometry;
  if (x < attention.x0 || x >= attention.x1) return null;
  const head = Math.min(heads - 1, Math.floor((x - attention.x0) / headPitch));
  return hitStrip(
    { positions, prefill },
    { layer, head },
    { ...stripOf(geometry, head), y0: row.y0, y1: row.y1 },
    x,
    y,
  );
}

/** Returns the keys under x in a head's strip, and the queries under y in its triangle; in decode the newest query. */
export function hitStrip({ positions, prefill }, { layer, head }, { x0, x1, y0, y1 }, x, y) {
  const newest = [positions - 1, positions - 1];
  const keys = cellsAt(x, x0, x1, positions, positions) ?? newest;
  const queries = (prefill ? cellsAt(y, y0, y1, positions, positions) : null) ?? newest;
  return { group: "attention", layer, head, keys, queries };
}

function hitCache({ cache, columns, kvHeads }, { positions }, layer, row, x, y) {
  const span = cellsAt(x, cache.x0, cache.x1, columns, positions);
  if (!span) return null;
  const cell = Math.floor(((x - cache.x0) / (cache.x1 - cache.x0)) * columns * kvHeads);
  return { group: "cache", layer, kind: y < halfOf(row) ? "K" : "V", kvHead: cell % kvHeads, positions: span };
}
