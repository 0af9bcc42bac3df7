/**
 * Q on the map: one cell per head in the strip of the layer that is being computed. It makes that strip's weights and
 * is not kept, so it stands there only while its layer runs; what fades below it is an after-image. Pure.
 */

import { logScale, shade } from "../draw/scales.js";
import { rowOf, stripOf } from "./geometry.js";

const AFTER_IMAGES = [1, 0.55, 0.3, 0.14];
/** The share of a row's height that Q covers: the weights it makes stay in sight under it. */
const HEIGHT = 0.5;
const LEAST_PX = 3;

/**
 * Which layers' Q is there to see.
 *
 * @param {{reveal: number, layerStop: number|null, layers: number}} state
 * @returns {{layer: number, strength: number}[]} `strength` 0…1: how clearly; none while a step rests
 */
export function queriesShown({ reveal, layerStop, layers }) {
  if (layerStop) return [{ layer: layerStop - 1, strength: 1 }];
  if (reveal <= 0 || reveal >= layers) return [];
  return AFTER_IMAGES.map((strength, age) => ({ layer: Math.floor(reveal) - age, strength })).filter(
    ({ layer }) => layer >= 0,
  );
}

/**
 * @param {CanvasRenderingContext2D} context in CSS pixels
 * @param {{layer: number, strength: number}[]} shown from `queriesShown`
 * @param {{view: Object, range: {low: number, high: number}, theme: Object}} scales
 */
export function drawQueries(context, shown, { view, range, theme }, { geometry }) {
  const scale = logScale(range);
  context.save();
  for (const { layer, strength } of shown) {
    const { y0, y1 } = rowOf(geometry, layer);
    context.globalAlpha = strength;
    for (let head = 0; head < view.heads; head++) {
      const { x0, x1 } = stripOf(geometry, head);
      context.fillStyle = theme.computedCell.css[shade(scale(view.q(layer, head)))];
      context.fillRect(x0, y0, x1 - x0, Math.max(LEAST_PX, (y1 - y0) * HEIGHT));
    }
  }
  context.restore();
}
