/** The columns as images, painted once and drawn often: a token's residual rows, its cached K and V, and what is dropped. */

import { IN_MEMORY } from "../../shared/ui/surface.js";
import { READ_SHADE } from "../map/cells.js";

const GAP_FROM_PX = 4;

/**
 * @param {Object} run
 * @param {{residual: Function, k: Function, v: Function}} shades from `mapShades`
 * @param {{geometry: Object, theme: Object, ratio: number, count: number}} how `count`: columns of the run so far
 * @returns {Object<string, HTMLCanvasElement>} of the size of the picture: `tracks`: layers not
 *   computed yet; `residual` and `written` (K and V): computed in this step; `shelf`: cached K and V; `hollow`: dropped rows
 */
export function paintColumns(run, shades, { geometry, theme, ratio, count }) {
  const image = (paint) => {
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(geometry.width * ratio);
    canvas.height = Math.round(geometry.height * ratio);
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", IN_MEMORY));
    context.scale(ratio, ratio);
    paint(context);
    return canvas;
  };
  const residual = (layer) => shades.residual(layer, count);
  return {
    tracks: image((context) => tracks(context, geometry, theme)),
    residual: image((context) =>
      residuals(context, { geometry, from: run.reused, count, colours: theme.computedCell.css }, residual),
    ),
    written: image((context) =>
      shelves(context, run, shades, { geometry, count, k: theme.computedCell.css, v: theme.computedCell.css }),
    ),
    shelf: image((context) =>
      shelves(context, run, shades, { geometry, count, k: theme.cachedK.css, v: theme.cachedV.css }),
    ),
    hollow: image((context) => hollows(context, geometry, theme, count)),
  };
}

/** @returns {number} height of a cell without its gap */
function inner({ cell }) {
  return cell >= GAP_FROM_PX ? cell - 1 : cell;
}

function tracks(context, geometry, theme) {
  const { positions, layers, x, y, residual, cell } = geometry;
  const every = Math.max(1, Math.ceil(GAP_FROM_PX / cell));
  context.fillStyle = theme.line;
  for (let position = 0; position < positions; position++)
    for (let layer = 0; layer < layers; layer += every)
      context.fillRect(x(position) + residual * 0.2, y(layer) + cell / 2, residual * 0.6, 1);
}

function residuals(context, { geometry, from, count, colours }, shadesOf) {
  const { layers, x, y, residual } = geometry;
  const high = inner(geometry);
  for (let layer = 0; layer < layers; layer++) {
    const shades = shadesOf(layer);
    for (let position = from; position < count; position++) {
      context.fillStyle = colours[shades[position]];
      context.fillRect(x(position), y(layer), residual, high);
    }
  }
}

function shelves(context, run, shades, { geometry, count, k, v }) {
  const { layers, y, shelf, shelfAt } = geometry;
  const high = inner(geometry) / run.kvHeads;
  for (let layer = 0; layer < layers; layer++) {
    for (const [values, colours, side] of [
      [shades.k(layer, count), k, 0],
      [shades.v(layer, count), v, 1],
    ]) {
      for (let position = 0; position < count; position++) {
        for (let head = 0; head < run.kvHeads; head++) {
          context.fillStyle = colours[values[position * run.kvHeads + head]];
          const [left, top] = [shelfAt(position) + side * (shelf + 1), y(layer) + head * high];
          if (position >= run.reused) context.fillRect(left, top, shelf, high);
          else outline(context, { left, top, width: shelf, height: high }, colours[READ_SHADE]);
        }
      }
    }
  }
}

/** Draws K and V of an earlier run: they are in the cache, but this log does not have their lengths. */
function outline(context, { left, top, width, height }, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.strokeRect(left + 0.5, top + 0.5, Math.max(1, width - 1), Math.max(1, height - 1));
}

function hollows(context, { x, y, residual, layers, top, bottom, cell, pitch }, theme, count) {
  if (residual < GAP_FROM_PX) {
    context.strokeStyle = theme.muted;
    context.strokeRect(x(0) + 0.5, top + 0.5, count * pitch - 1, bottom - top - 1);
    return;
  }
  const lines = cell >= GAP_FROM_PX;
  for (let position = 0; position < count; position++) {
    const left = x(position) + 0.5;
    context.strokeStyle = theme.line;
    context.lineWidth = 1;
    context.beginPath();
    for (let layer = 1; lines && layer < layers; layer++) {
      context.moveTo(left, y(layer - 1) - 0.5);
      context.lineTo(left + residual - 1, y(layer - 1) - 0.5);
    }
    context.stroke();
    context.strokeStyle = theme.muted;
    context.globalAlpha = 0.7;
    context.strokeRect(left, top + 0.5, Math.max(1, residual - 1), bottom - top - 1);
    context.globalAlpha = 1;
  }
}
