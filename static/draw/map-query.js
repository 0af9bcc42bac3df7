/**
 * Q on the map: one cell per head in the strip of the layer that is being computed. It makes that strip's weights and
 * is not kept, so it stands there only while its layer runs; what fades below it is an after-image. Pure.
 */

import { rowOf, stripOf } from "./map-geometry.js";
import { logScale, shade } from "./scales.js";

const AFTER_IMAGES = [1, 0.55, 0.3, 0.14];
/** The share of a row's height that Q covers: the weights it makes stay in sight under it. */
const HEIGHT = 0.5;
const LEAST_PX = 3;
const LABEL_PX = 12;

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
  if (!shown.length) return;
  const scale = logScale(range);
  // Outside save and restore: a font that is already set costs nothing, one set anew makes the browser resolve styles.
  context.font = `700 ${LABEL_PX}px ${theme.mono}`;
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
  labelQ(context, rowOf(geometry, shown[0].layer), theme, geometry);
  context.restore();
}

function labelQ(context, { y0, y1 }, theme, { attention }) {
  context.globalAlpha = 1;
  context.fillStyle = theme.ink;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText("Q", attention.x0 - 2, (y0 + y1) / 2);
}
