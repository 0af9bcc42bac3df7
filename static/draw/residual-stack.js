/** Lengths of token rows after each layer, a line per layer, the last layer on top. Pure: (data, scales, size) → pixels. */

import { paintLane, pixels } from "./pixels.js";
import { logScale, shade } from "./scales.js";

/**
 * @param {Object} view from mapView
 * @param {{range: {low: number, high: number}, theme: Object, shown: number}} scales `shown`: layers of this step that are
 *   there; above them only the rows of earlier steps are
 * @param {{width: number, rowPx: number, ratio: number}} size CSS pixels
 */
export function paintResidualStack(view, { range, theme, shown }, { width, rowPx, ratio }) {
  const scale = logScale(range);
  const target = pixels(Math.round(width * ratio), Math.round(rowPx * view.layers * ratio));
  for (let layer = 0; layer < view.layers; layer++) {
    const fromTop = view.layers - 1 - layer;
    const y0 = Math.round((fromTop * rowPx + 1) * ratio);
    const lane = { x0: 0, x1: target.width, y0, y1: Math.round((fromTop + 1) * rowPx * ratio), capacity: view.positions };
    const shades = Uint8Array.from({ length: view.positions }, (_, position) =>
      shade(scale(view.residual(layer, position))),
    );
    const old = shades.subarray(0, view.firstQuery);
    if (old.length) paintLane(target, { ...lane, shades: old, colours: theme.cachedRow.packed });
    if (layer < shown) paintLane(target, { ...lane, shades, colours: theme.computedCell.packed, from: view.firstQuery });
  }
  return target;
}
