/**
 * The map's lengths as shades, each computed once: shades of older positions do not change from step to step, and a
 * logarithm for every cell at every step would take most of the painting time of a long run.
 */

import { logScale, shade } from "../../shared/draw/scales.js";
import { gatherOnce } from "../draw/pixels.js";

/**
 * @param {Object} run
 * @param {{residual: {low, high}, k: {low, high}, v: {low, high}}} ranges
 * @returns {{residual: Function, k: Function, v: Function, gathers: Object}} each (layer, positions) → Uint8Array of the
 *   first `positions` positions; K and V have a shade per K/V head, all those of one position together. Valid until the next
 *   call with the same layer. `gathers`: of `k` and `v`, by layer: gathers the shades of a thin lane
 */
export function mapShades(run, ranges) {
  const { layers, kvHeads } = run;
  const everyLayer = () => Array.from({ length: layers }, gatherOnce);
  return {
    gathers: { k: everyLayer(), v: everyLayer() },
    residual: residualShades(run, ranges.residual),
    k: grown(layers, kvHeads, ranges.k, (layer, head, position) => run.kNorm(layer, head, position)),
    v: grown(layers, kvHeads, ranges.v, (layer, head, position) => run.vNorm(layer, head, position)),
  };
}

/** @returns {Function} as `mapShades(…).residual` */
export function residualShades(run, range) {
  return grown(run.layers, 1, range, (layer, _, position) => run.residualNorm(layer, position));
}

/** Returns a function that gives the shades of a layer up to a position, each computed once. */
function grown(layers, heads, range, read) {
  const scale = logScale(range);
  const lines = Array.from({ length: layers }, () => ({ shades: new Uint8Array(64 * heads), known: 0 }));
  return (layer, positions) => {
    const line = lines[layer];
    if (positions * heads > line.shades.length) {
      const more = new Uint8Array(Math.max(2 * line.shades.length, positions * heads));
      more.set(line.shades);
      line.shades = more;
    }
    for (; line.known < positions; line.known++) {
      for (let head = 0; head < heads; head++)
        line.shades[line.known * heads + head] = shade(scale(read(layer, head, line.known)));
    }
    return line.shades.subarray(0, positions * heads);
  };
}
