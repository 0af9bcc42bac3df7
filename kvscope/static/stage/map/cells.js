/**
 * The map's cells. Pure: (data, scales, size) → pixels.
 *
 * A whole step is painted once, one layer or part of a layer at a time. `drawMap` draws it on the canvas without the layers
 * that are not shown yet.
 */

import { fill, paintHollow, paintLane, repeatLine } from "../draw/pixels.js";
import { columnOf, halfOf, rowOf, stripOf } from "./geometry.js";

/** Least width of the newest column, so that it is visible among hundreds. */
export const LEAST_NEW_PX = 3;
/** Shade of the outline of K and V from an earlier run, of 256. */
export const READ_SHADE = 200;

/** @returns {{width: number, height: number}} of the map in device pixels */
export function mapSize({ geometry, ratio }) {
  return { width: Math.round(geometry.width * ratio), height: Math.round(geometry.height * ratio) };
}

/** @returns {number} number of parts of a step: one per layer; in prefill, per layer one for its rows and one per head */
export function mapParts(view) {
  return view.prefill ? view.layers * (1 + view.heads) : view.layers;
}

/**
 * Paints one part over what the image shows.
 *
 * @param {{data: Uint32Array, width: number, height: number}} target of the map's size
 * @param {Object} view from mapView
 * @param {number} part below `mapParts(view)`, the first layer's first
 * @param {{shades: Object, theme: Object}} scales `shades` from mapShades
 * @param {{geometry: Object, ratio: number}} size `ratio`: device pixels per CSS pixel
 * @returns {{y0: number, y1: number}} the device pixel rows that hold it
 */
export function paintMapPart(target, view, part, scales, { geometry, ratio }) {
  if (!view.prefill) return paintDecodeLayer(target, view, scales, boxesOf(geometry, ratio, part));
  const layer = Math.floor(part / (1 + view.heads));
  const head = (part % (1 + view.heads)) - 1;
  const boxes = boxesOf(geometry, ratio, layer);
  if (head >= 0) {
    const strip = boxes.strip(head);
    clear(target, strip);
    paintTriangle(target, view, layer, head, strip, scales.theme);
    return strip;
  }
  const { residual, upper, lower } = boxes;
  clear(target, residual);
  paintHollow(target, { ...residual, capacity: view.columns }, view.firstQuery, scales.theme.hollow);
  paintResidual(target, view, residual, scales, boxes);
  clear(target, { ...upper, y1: lower.y1 });
  paintShelf(target, view, upper, "k", scales, boxes);
  paintShelf(target, view, lower, "v", scales, boxes);
  paintReadLanes(target, view, boxes, scales);
  return residual;
}

/** Returns the boxes of a layer, in device pixels. `upper` and `lower`: its cached K and V. */
function boxesOf(geometry, ratio, layer) {
  const row = rowOf(geometry, layer);
  const half = halfOf(row);
  const device = (columns, { y0, y1 }) => ({
    x0: Math.round(columns.x0 * ratio),
    x1: Math.round(columns.x1 * ratio),
    y0: Math.round(y0 * ratio),
    y1: Math.round(y1 * ratio),
  });
  return {
    layer,
    ratio,
    residual: device(geometry.residual, row),
    upper: device(geometry.cache, { y0: row.y0, y1: half }),
    lower: device(geometry.cache, { y0: half, y1: row.y1 }),
    strip: (head) => device(stripOf(geometry, head), row),
  };
}

/** Paints one line of pixels and repeats it: with one query, all lines of a layer are equal, except that V follows K. */
function paintDecodeLayer(target, view, scales, boxes) {
  const { residual, upper, lower, layer } = boxes;
  const { y0, y1 } = residual;
  const lineOf = (box, top = y0) => ({ ...box, y0: top, y1: top + 1 });
  clear(target, { x0: residual.x0, x1: upper.x1, y0, y1: y0 + 1 });
  paintResidual(target, view, lineOf(residual), scales, boxes);
  for (let head = 0; head < view.heads; head++) {
    const shades = view.row(layer, head, view.positions - 1);
    const { packed: colours } = attentionColours(view, scales.theme);
    const from = view.firstKey(layer, view.positions - 1);
    paintLane(target, { ...lineOf(boxes.strip(head)), capacity: view.positions, shades, colours, from });
  }
  paintShelf(target, view, lineOf(upper), "k", scales, boxes);
  repeatLine(target, residual.x0, upper.x1, y0, y1);
  // Dropped rows have a whole outline. The newest cell may be wider than its column and is painted over it.
  paintHollow(target, { ...residual, capacity: view.columns }, view.firstQuery, scales.theme.hollow);
  paintNewResidual(target, view, residual, scales, boxes);
  if (lower.y1 > lower.y0) {
    paintShelf(target, view, lineOf(lower, lower.y0), "v", scales, boxes);
    repeatLine(target, lower.x0, lower.x1, lower.y0, lower.y1);
  }
  paintReadLanes(target, view, boxes, scales);
  return residual;
}

/** Paints the empty cells of a layer, for a step that is not complete. Parameters as of `paintMapPart`. */
export function paintWaitingLayer(target, view, layer, { theme }, { geometry, ratio }) {
  const { residual, upper, lower, strip } = boxesOf(geometry, ratio, layer);
  const strips = Array.from({ length: view.heads }, (_, head) => strip(head));
  for (const { x0, y0, x1, y1 } of [residual, ...strips, upper, lower]) fill(target, x0, y0, x1, y1, theme.track);
  return residual;
}

function clear(target, { x0, y0, x1, y1 }) {
  fill(target, x0, y0, x1, y1, 0);
}

function paintResidual(target, view, box, scales, boxes) {
  const pitch = (box.x1 - box.x0) / view.columns;
  fill(target, Math.round(box.x0 + view.positions * pitch), box.y0, box.x1, box.y1, scales.theme.track);
  paintNewResidual(target, view, box, scales, boxes);
}

function paintNewResidual(target, view, box, { shades, theme }, { layer, ratio }) {
  if (view.lacks?.residual) return;
  paintNew(target, box, {
    capacity: view.columns,
    shades: shades.residual(layer, view.positions),
    firstNew: view.firstQuery,
    group: 1,
    theme,
    ratio,
  });
}

/** @param {"k"|"v"} kind */
function paintShelf(target, view, box, kind, { shades, theme }, { layer, ratio }) {
  const { kvHeads, positions, columns, firstQuery } = view;
  const pitch = (box.x1 - box.x0) / columns;
  fill(
    target,
    Math.round(box.x0 + positions * pitch),
    box.y0,
    Math.round(box.x0 + Math.min(columns, view.reserved) * pitch),
    box.y1,
    theme.reserved,
  );
  if (view.lacks?.cache) return;
  const lane = { capacity: columns * kvHeads, group: kvHeads, shades: shades[kind](layer, positions) };
  const firstNew = firstQuery * kvHeads;
  const old = lane.shades.subarray(0, firstNew);
  const { packed: colours } = kind === "k" ? theme.cachedK : theme.cachedV;
  const from = Math.max(view.reused, view.firstHeld(layer)) * kvHeads;
  if (old.length > from)
    paintLane(target, { ...box, ...lane, from, shades: old, gather: shades.gathers[kind][layer], colours });
  paintNew(target, box, { ...lane, firstNew, theme, ratio });
}

function paintReadLanes(target, view, { upper, lower, layer }, { theme }) {
  const count = Math.min(view.reused, view.firstQuery);
  for (const [box, colours] of [
    [upper, theme.cachedK.packed],
    [lower, theme.cachedV.packed],
  ]) {
    paintRead(target, { ...box, capacity: view.columns }, count, colours);
    paintDropped(target, { ...box, capacity: view.columns }, view.firstHeld(layer), theme);
  }
}

/** Paints positions before the sliding window of a layer, which no longer holds their K and V. */
export function paintDropped(target, lane, count, { hollow }) {
  if (count) paintHollow(target, lane, count, hollow);
}

/** Paints K and V of an earlier run: they are in the cache, but this log does not have their lengths. */
export function paintRead(target, lane, count, colours) {
  if (count) paintHollow(target, lane, count, colours[READ_SHADE]);
}

/** Paints the cells of this step in a lane; a longer vector is darker. */
export function paintNew(target, box, { capacity, shades, firstNew, group, theme, ratio }) {
  if (firstNew >= shades.length) return;
  const lane = { ...box, capacity, group };
  const width = ((box.x1 - box.x0) / capacity) * (shades.length - firstNew);
  if (width >= LEAST_NEW_PX * ratio) {
    paintLane(target, { ...lane, shades, colours: theme.computedCell.packed, from: firstNew });
    return;
  }
  const newest = shades.subarray(firstNew).reduce((most, value) => Math.max(most, value), 0);
  const right = Math.round(box.x0 + (shades.length * (box.x1 - box.x0)) / capacity);
  fill(
    target,
    Math.max(box.x0, right - LEAST_NEW_PX * ratio),
    box.y0,
    right,
    box.y1,
    theme.computedCell.packed[newest],
  );
}

/** Returns amber for the step that computes the weights, or the colours of earlier steps if another run computed it. */
export function attentionColours({ inherited }, { attention, attentionNow }) {
  return inherited ? attention : attentionNow;
}

/** Paints the weights of prefill, newest row at the bottom. Masked cells and rows of an earlier run stay empty. */
export function paintTriangle(target, view, layer, head, box, theme) {
  const { positions, reused } = view;
  const colours = attentionColours(view, theme).packed;
  const height = box.y1 - box.y0;
  for (let y = 0; y < height; y++) {
    const first = Math.floor((y * positions) / height);
    const last = Math.max(first + 1, Math.ceil(((y + 1) * positions) / height));
    if (last <= reused) continue;
    const top = Math.max(first, reused);
    const shades = largest(view, layer, head, top, Math.min(positions, last));
    const from = view.firstKey(layer, top);
    paintLane(target, { ...box, y0: box.y0 + y, y1: box.y0 + y + 1, capacity: positions, shades, colours, from });
  }
}

/** Returns the largest weight per key over some query rows. */
function largest(view, layer, head, first, last) {
  if (last - first === 1) return view.row(layer, head, first);
  const shades = new Uint8Array(last);
  for (let query = first; query < last; query++) {
    const row = view.row(layer, head, query);
    for (let key = 0; key < row.length; key++) if (row[key] > shades[key]) shades[key] = row[key];
  }
  return shades;
}

/**
 * Draws the shown layers of a painted step, and empty cells for the layers above.
 *
 * @param {CanvasRenderingContext2D} context in CSS pixels
 * @param {CanvasImageSource} painted the whole step
 * @param {{view: Object, reveal: number, theme: Object}} state `reveal`: layers of this step shown, 0…layers
 */
export function drawMap(context, painted, { view, reveal, theme }, { geometry }) {
  context.clearRect(0, 0, geometry.width, geometry.height);
  context.drawImage(painted, 0, 0, geometry.width, geometry.height);
  if (reveal >= view.layers) return;
  const edge = geometry.bottom - reveal * geometry.rowPitch;
  for (const group of view.inherited ? [] : ["residual", "cache"]) {
    const last = columnOf(geometry, group, view.positions - 1).x1;
    const x = Math.min(columnOf(geometry, group, view.firstQuery).x0, last - LEAST_NEW_PX);
    context.clearRect(x, geometry.top, last - x, edge - geometry.top);
    drawPending(context, x, last, edge, theme, geometry);
  }
  const { x0, x1 } = geometry.attention;
  context.clearRect(x0, geometry.top, x1 - x0, edge - geometry.top);
  drawEmptyRows(context, Math.ceil(reveal), theme, geometry);
  context.fillStyle = theme.computed;
  context.fillRect(geometry.residual.x0, edge - 1, geometry.cache.x1 - geometry.residual.x0, 1.5);
}

/** Draws outlines for this step's cells that are not shown yet. */
function drawPending(context, x0, x1, edge, { computed }, { top }) {
  if (edge - top < 2) return;
  context.save();
  context.strokeStyle = computed;
  context.globalAlpha = 0.7;
  context.lineWidth = 1;
  context.setLineDash([2, 2]);
  context.strokeRect(x0 + 0.5, top + 0.5, Math.max(1, x1 - x0 - 1), edge - top - 1);
  context.restore();
}

/** Draws a line per head and layer that has no weights yet. */
function drawEmptyRows(context, first, { line }, geometry) {
  context.fillStyle = line;
  for (let layer = first; layer < geometry.layers; layer++) {
    const { y0, y1 } = rowOf(geometry, layer);
    for (let head = 0; head < geometry.heads; head++) {
      const { x0, x1 } = stripOf(geometry, head);
      context.fillRect(x0, Math.round((y0 + y1) / 2), x1 - x0, 1);
    }
  }
}
