/**
 * The lens: the selected layer of a step, shown slowly enough to follow its data. The playhead slows down during that layer; a
 * layer-by-layer walk stops there with the whole layer visible. Pure.
 */

import { isInherited } from "../facts/step-rows.js";
import { progressAt } from "./easing.js";
import { inIntro } from "./intro.js";

/** Duration of the layer at speed 1, in ms: in prefill and the first decode step, and in the later decode steps. */
const FIRST_MS = 1700;
const LATER_MS = 1000;
/** A shorter duration cannot be followed; then the layer is as fast as the others. */
const LEAST_MS = 600;

/** @returns {number} the duration of the selected layer, in ms; 0: as fast as the others */
export function lensMs(state, step) {
  if (inIntro(state) || state.following || state.reducedMotion) return 0;
  const ms = (step <= 1 ? FIRST_MS : LATER_MS) / state.speed;
  return ms < LEAST_MS ? 0 : ms;
}

/** @returns {{from: number, to: number, ms: number}|null} the slow part of a step, as `paceOf` takes it */
export function slowPart(state, step) {
  const ms = isInherited(state.run, step) ? 0 : lensMs(state, step);
  const { layers } = state.run;
  if (!ms || !layers) return null;
  const { layer } = state.selection;
  const measured = state.run.steps[step].data.ms;
  return { from: progressAt(layer, layers, measured), to: progressAt(layer + 1, layers, measured), ms };
}

/**
 * @param {Object} state of the store
 * @returns {{layer: number, part: number, stands: boolean}|null} `part`: progress of its layer, 0…1; null while the lens
 *   is closed
 */
export function lensOf(state) {
  const { run, reveal, layerStop, selection, step } = state;
  if (!run?.steps.length || inIntro(state) || isInherited(run, step)) return null;
  const { layer } = selection;
  if (layerStop) return layerStop === layer + 1 ? { layer, part: 1, stands: true } : null;
  const isAtIt = reveal > layer && reveal < layer + 1;
  return isAtIt && lensMs(state, step) ? { layer, part: reveal - layer, stands: false } : null;
}
