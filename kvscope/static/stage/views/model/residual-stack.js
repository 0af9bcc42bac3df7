/** Lengths of token rows after each layer, a line per layer, the last layer on top. Pure: (data, scales, size) → pixels. */

import { fill, paintHollow, paintLane } from "../../draw/pixels.js";

/** @returns {{width: number, height: number}} of the stack in device pixels */
export function stackSize({ layers }, { width, rowPx, ratio }) {
  return { width: Math.round(width * ratio), height: Math.round(rowPx * layers * ratio) };
}

/**
 * Paints one layer's line over the previous picture.
 *
 * @param {{data: Uint32Array, width: number, height: number}} target of the stack's size
 * @param {Object} view from mapView
 * @param {{residual: Function, theme: Object, shown: number}} scales `residual` from residualShades; `shown`: layers that this
 *   step has computed; layers above them have only the rows of earlier steps
 * @param {{rowPx: number, ratio: number}} size `rowPx` in CSS pixels
 * @returns {{y0: number, y1: number}} the device pixels that are painted
 */
export function paintStackLine(target, view, layer, scales, size) {
  const { residual, theme, shown } = scales;
  const { rowPx, ratio } = size;
  const fromTop = view.layers - 1 - layer;
  const top = Math.round(fromTop * rowPx * ratio);
  const y0 = Math.round((fromTop * rowPx + 1) * ratio);
  const y1 = Math.round((fromTop + 1) * rowPx * ratio);
  fill(target, 0, top, target.width, y1, 0);
  const lane = { x0: 0, x1: target.width, y0, y1, capacity: view.positions };
  const shades = residual(layer, view.positions);
  paintHollow(target, lane, view.firstQuery, theme.hollow);
  if (layer < shown) paintLane(target, { ...lane, shades, colours: theme.computedCell.packed, from: view.firstQuery });
  return { y0: top, y1 };
}
