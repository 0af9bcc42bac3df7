/**
 * The data flow through one layer, at any time of its animation: column → Q → lines from the cache → weights → back into
 * the column; K and V move into the cache. It draws on the context and changes nothing else; CSS pixels of the map.
 */

import { logScale, shade } from "../../shared/draw/scales.js";
import { LEAST_NEW_PX } from "./cells.js";
import { columnOf } from "./geometry.js";
import { middleOf } from "./lens-geometry.js";

/** Begin and end of each part of the animation, as shares of its time. */
const LEGS = {
  opened: [0, 0.1],
  queried: [0.1, 0.26],
  written: [0.14, 0.38],
  weighed: [0.28, 0.44],
  read: [0.4, 0.64],
  added: [0.62, 0.76],
  left: [0.76, 0.9],
};
const CLOSES = 0.95;
const TICK = { wide: 5, high: 16 };
const THREAD_PX = 6.5;
const LEAST_THREAD_PX = 0.8;
const OUTLINE_PX = 2;

/** @returns {Object<string, number>} progress of each part, 0…1; `open`: of the card */
export function legsAt({ part, stands }) {
  const done = (/** @type {number[]} */ [from, to]) => Math.min(1, Math.max(0, (part - from) / (to - from)));
  const legs = Object.fromEntries(Object.entries(LEGS).map(([name, leg]) => [name, done(leg)]));
  const closed = stands ? 0 : done([CLOSES, 1]);
  return { ...legs, open: smooth(legs.opened) * (1 - smooth(closed)) };
}

const smooth = (share) => share * share * (3 - 2 * share);

/**
 * @param {{group: string, positions?: number[]}} hit from `hitLens`
 * @returns {boolean} whether the cell is visible already
 */
export function isVisible({ group, positions }, { firstQuery }, legs) {
  if (group === "attention") return legs.weighed === 1;
  return positions[1] < firstQuery || (group === "residual" ? legs.left : legs.written) === 1;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {CanvasImageSource} image the cells, from `paintLensPart`
 * @param {Object} scene {lens, geometry, view, threads, legs, marked, lengthOfQ, range, theme}; `threads` from `threadsOf`,
 *   `marked`: {head, query, key} to highlight; `lengthOfQ(head)`, and `range`: their scale, null if the log has none
 */
export function drawLens(context, image, scene) {
  const { lens, geometry, view, legs } = scene;
  const { card, column } = lens;
  const put = (x0, x1, y0 = card.y0, y1 = card.y1) => {
    if (x1 <= x0 || y1 <= y0) return;
    clipped(context, { x0, x1, y0, y1 }, () =>
      context.drawImage(image, card.x0, card.y0, card.x1 - card.x0, card.y1 - card.y0),
    );
  };
  context.clearRect(card.x0, card.y0, card.x1 - card.x0, card.y1 - card.y0);
  const columns = newFrom(geometry, "residual", view);
  put(card.x0, columns);
  put(column.x1, lens.weights.x0 - 1);
  const shelf = newFrom(geometry, "cache", view);
  put(lens.weights.x1, shelf);
  put(columnOf(geometry, "cache", view.positions - 1).x1, card.x1);

  drawPending(context, scene, columns, shelf);
  put(columns, column.x1, risenTo(lens, legs));
  drawQueries(context, scene, columns);
  drawWrites(context, scene, shelf, put);
  const { x0, x1 } = lens.weights;
  put(x0, x0 + (x1 - x0) * legs.weighed);
  drawReads(context, scene);
  drawOutput(context, scene);
  drawMlp(context, scene, columns);
  drawOutlines(context, scene);
}

function clipped(context, { x0, x1, y0, y1 }, draw) {
  context.save();
  context.beginPath();
  context.rect(x0, y0, x1 - x0, y1 - y0);
  context.clip();
  draw();
  context.restore();
}

/** @returns {number} x of a group's first cell of this step; the newest cell has a least width */
function newFrom(geometry, group, { firstQuery, positions }) {
  const { x1 } = columnOf(geometry, group, positions - 1);
  return Math.min(columnOf(geometry, group, firstQuery).x0, x1 - LEAST_NEW_PX);
}

/** @returns {number} y that the column's data has reached: where attention adds its output, then above the MLP */
function risenTo({ inside, back, tap }, { added, left }) {
  const start = tap - 10;
  const after = back - 8;
  if (left > 0) return after + (inside.y0 - after) * left;
  return start + (after - start) * Math.max(0, (added - 0.8) / 0.2);
}

/** Draws outlines for the cells that this layer has not computed yet. */
function drawPending(context, { lens, view, geometry, theme, legs }, columns, shelf) {
  const dashed = (x0, x1, { y0, y1 }) =>
    context.strokeRect(x0 + 0.5, y0 + 0.5, Math.max(1, x1 - x0 - 2), Math.max(1, y1 - y0 - 1));
  context.save();
  if (legs.weighed < 1) {
    context.fillStyle = theme.line;
    for (let head = 0; head < view.heads; head++) {
      const { x0, x1, y0, y1 } = lens.stripOf(head);
      context.fillRect(x0, Math.round((y0 + y1) / 2), x1 - x0, 1);
    }
  }
  context.strokeStyle = theme.computed;
  context.globalAlpha = 0.8;
  context.lineWidth = 1;
  context.setLineDash([2, 2]);
  if (legs.left < 1) dashed(columns, lens.column.x1, lens.inside);
  if (legs.written < 1) {
    const end = columnOf(geometry, "cache", view.positions - 1).x1;
    for (let kvHead = 0; kvHead < view.kvHeads; kvHead++)
      for (const kind of ["K", "V"]) dashed(shelf, end, lens.laneOf(kvHead, kind));
  }
  context.restore();
}

/** Draws lines from the column through the weights of Q to a dot per head; a longer q is darker. */
function drawQueries(context, { lens, view, lengthOfQ, range, theme, legs, marked }, columns) {
  const { tick, tap, dots, column } = lens;
  if (legs.queried <= 0) return;
  const end = dots.x + dots.r + 2;
  const from = view.positions - view.firstQuery > 1 ? columns : column.x1;
  clipped(context, { ...lens.inside, x0: from - 1, x1: from + (end - from) * legs.queried }, () => {
    context.strokeStyle = theme.computed;
    context.lineWidth = 2;
    line(context, [from, tap], [tick, tap]);
    for (let head = 0; head < view.heads; head++) {
      const y = middleOf(lens.stripOf(head));
      context.lineWidth = head === marked.head ? 2 : 1;
      context.globalAlpha = head === marked.head ? 1 : 0.75;
      curve(context, [tick, tap], [dots.x, y]);
    }
    context.globalAlpha = 1;
    const scale = range && logScale(range);
    for (let head = 0; head < view.heads; head++) {
      const colour = scale ? theme.computedCell.css[shade(scale(lengthOfQ(head)))] : theme.panel;
      dot(
        context,
        dots.x,
        middleOf(lens.stripOf(head)),
        dots.r,
        colour,
        head === marked.head ? theme.ink : theme.computed,
      );
    }
  });
  weightsTick(context, theme, tick, tap, Math.min(1, legs.queried * 3));
}

/** Draws how K and V of this step move from the column, below the heads, into the cache. */
function drawWrites(context, { lens, view, geometry, theme, legs }, shelf, put) {
  const { written } = legs;
  if (written <= 0) return;
  const { tick, tap, under } = lens;
  const end = columnOf(geometry, "cache", view.positions - 1).x1;
  const middle = (Math.max(shelf, end - 40) + end) / 2;
  context.strokeStyle = theme.computed;
  context.globalAlpha = 0.7;
  context.lineWidth = 1.5;
  clipped(context, { x0: tick - 1, x1: tick + (middle + 2 - tick) * written, y0: tap, y1: lens.card.y1 }, () => {
    context.beginPath();
    context.moveTo(tick, tap);
    context.lineTo(tick, under - 5);
    context.quadraticCurveTo(tick, under, tick + 5, under);
    context.lineTo(middle - 5, under);
    context.quadraticCurveTo(middle, under, middle, under - 5);
    context.lineTo(middle, lens.inside.y1 - 1);
    context.stroke();
  });
  context.globalAlpha = 1;
  if (written === 1) {
    put(shelf, end);
    return;
  }
  context.fillStyle = theme.computed;
  const x = tick + (shelf - tick) * smooth(written);
  for (let kvHead = 0; kvHead < view.kvHeads; kvHead++) {
    for (const kind of ["K", "V"]) {
      const { y0, y1 } = lens.laneOf(kvHead, kind);
      const y = under - 3 + (y0 - under + 3) * smooth(Math.max(0, (written - 0.7) / 0.3));
      const lag = (kvHead * 2 + (kind === "V" ? 1 : 0)) * 7 * (1 - written);
      context.fillRect(x - lag, y, Math.max(4, Math.min(10, end - shelf)), Math.min(6, y1 - y0));
    }
  }
}

/** Draws a line from the cache to a head for each key that it reads, as thick as its weight. */
function drawReads(context, { lens, geometry, threads, theme, legs, marked }) {
  if (legs.read <= 0) return;
  const { weights, shelf } = lens;
  const left = weights.x1 + 2;
  const scale = Math.min(1, lens.headPitch / 10);
  const order = [...threads].sort((a, b) => Number(a.head === marked.head) - Number(b.head === marked.head));
  clipped(context, { ...lens.inside, x0: shelf.x1 - (shelf.x1 - left) * legs.read, x1: shelf.x1 }, () => {
    for (const { head, kvHead, key, weight, isNew } of order) {
      const isMarked = head === marked.head;
      const { x0, x1 } = columnOf(geometry, "cache", key);
      const [to, at] = [(x0 + x1) / 2, lens.between(kvHead)];
      const thick = LEAST_THREAD_PX + THREAD_PX * scale * weight;
      const colour = isNew ? theme.computed : isMarked ? theme.cachedInk : theme.cached;
      context.strokeStyle = colour;
      context.globalAlpha = isMarked ? 0.55 + 0.45 * weight : 0.22 + 0.5 * weight;
      context.lineWidth = thick;
      const entry = shelf.x0 - 4;
      curve(context, [left, middleOf(lens.stripOf(head))], [entry, at], [to, at]);
      if (weight >= 0.05) dot(context, to, at, Math.max(1.5, thick / 2 + 0.5), colour, null);
    }
  });
  context.globalAlpha = 1;
}

/** Draws the heads' output, which goes through the output weights and is added to the column. */
function drawOutput(context, { lens, theme, legs }) {
  if (legs.added <= 0) return;
  const { weights, over, back, tick, column, inside } = lens;
  const start = weights.x1 + 1;
  const end = column.x1 + 1;
  context.strokeStyle = theme.computed;
  context.lineWidth = 2.5;
  clipped(context, { x0: start - (start - end) * legs.added, x1: start + 3, y0: over - 4, y1: inside.y1 }, () => {
    context.beginPath();
    context.moveTo(start, inside.y1 - 2);
    context.lineTo(start, over + 6);
    context.quadraticCurveTo(start, over, start - 6, over);
    context.lineTo(tick + 8, over);
    context.bezierCurveTo(tick - 4, over, tick, back, end + 7, back);
    context.stroke();
    arrowLeft(context, end, back, 8, theme.computed);
  });
  if (legs.added > 0.5) weightsTick(context, theme, tick + 12, over, (legs.added - 0.5) * 2);
}

/** Draws the MLP, the second part of the layer: the column goes through its weights. */
function drawMlp(context, { lens, theme, legs }, columns) {
  if (legs.left <= 0) return;
  context.fillStyle = theme.weights;
  context.globalAlpha = Math.min(1, legs.left * 2);
  context.fillRect(columns - 2, lens.mlp - TICK.wide / 2, lens.column.x1 - columns + 3, TICK.wide);
  context.globalAlpha = 1;
}

/** Outlines the selected head's weights, and the column and the key that are selected or hovered. */
function drawOutlines(context, { lens, geometry, view, theme, marked, legs }) {
  context.strokeStyle = theme.ink;
  context.lineWidth = OUTLINE_PX;
  const strip = lens.stripOf(marked.head);
  if (legs.weighed > 0) around(context, strip, 1);
  const { query, key } = marked;
  if (query !== null && query < view.positions)
    around(context, { ...columnOf(geometry, "residual", query), ...lens.inside }, 0);
  if (key === null || key >= view.positions || legs.weighed < 1) return;
  const kvHead = Math.floor(marked.head / (view.heads / view.kvHeads));
  const cell = columnOf(geometry, "cache", key);
  for (const kind of ["K", "V"]) around(context, { ...cell, ...lens.laneOf(kvHead, kind) }, 0);
}

function around(context, { x0, x1, y0, y1 }, grow) {
  context.strokeRect(x0 - grow, y0 - grow, Math.max(3, x1 - x0) + 2 * grow, y1 - y0 + 2 * grow);
}

function line(context, [x0, y0], [x1, y1]) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

/** Draws a curve, horizontal at both ends, and a straight line on to `end` if given. */
function curve(context, [x0, y0], [x1, y1], end = null) {
  const middle = (x0 + x1) / 2;
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(middle, y0, middle, y1, x1, y1);
  if (end) context.lineTo(...end);
  context.stroke();
}

function dot(context, x, y, r, fill, stroke) {
  context.fillStyle = fill;
  context.beginPath();
  context.arc(x, y, r, 0, 2 * Math.PI);
  context.fill();
  if (!stroke) return;
  context.strokeStyle = stroke;
  context.lineWidth = 1.5;
  context.stroke();
}

function weightsTick(context, theme, x, y, alpha) {
  context.globalAlpha = alpha;
  context.fillStyle = theme.weights;
  context.fillRect(x - TICK.wide / 2, y - TICK.high / 2, TICK.wide, TICK.high);
  context.globalAlpha = 1;
}

function arrowLeft(context, x, y, size, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + size, y - size * 0.7);
  context.lineTo(x + size, y + size * 0.7);
  context.fill();
}
