/**
 * A step layer by layer: how a viewer walks through its layers, and what a part of the page may show before all of them are done.
 * While a step sweeps, a part shows nothing that the sweep has not reached: it shows the previous step, or in prefill its empty state.
 * Pure.
 */

/**
 * @param {{step: number, reveal: number, run: Object|null, selection: {layer: number}}} state
 * @returns {{settled: number, reached: number}} the newest step with all layers shown, and the newest that has reached the
 *   selected layer; -1 during the sweep of prefill
 */
export function sweptSteps({ step, reveal, run, selection }) {
  if (!run?.steps.length) return { settled: 0, reached: 0 };
  const newestFrom = (layers) => (reveal >= layers ? step : step - 1);
  return { settled: newestFrom(run.layers), reached: newestFrom(selection.layer + 1) };
}

/**
 * The newest step that text may mention: during playback, recorded steps after the playhead are left out.
 *
 * @param {{playing: boolean, settled: number, step: number}} state
 * @returns {number} −1 during the sweep of prefill; infinite while playback is paused
 */
export function knownStep({ playing, settled, step }) {
  return playing || settled < step ? settled : Number.POSITIVE_INFINITY;
}

/** @returns {boolean} whether the page can show only the layout of the run yet */
export function isAwaited({ run, step }) {
  return Boolean(run?.awaited) || (run?.steps.length > 0 && step < 0);
}

/** @returns {Object} the state for parts that show a whole step: its chosen token, its totals */
export function whenSettled(state) {
  return state.settled === state.step ? state : { ...state, step: state.settled };
}

/** @returns {Object} the state for parts that show the selected layer */
export function whenReached(state) {
  return state.reached === state.step ? state : { ...state, step: state.reached };
}

/**
 * Moves by one layer. A step stops after each of its layers, and then at its end, where the next token has been chosen.
 *
 * @param {{step: number, layerStop: number|null}} from `layerStop`: layers shown, 1…layers; null at the step's end
 * @param {1|-1} change
 * @param {{steps: number, layers: number}} run complete steps, and layers of the model
 * @returns {{step: number, layerStop: number|null}} after the end of the newest step, that step starts again; there is no stop
 *   before the first layer of step 0
 */
export function walk({ step, layerStop }, change, { steps, layers }) {
  if (change > 0) {
    if (layerStop === null) return { step: Math.min(step + 1, steps - 1), layerStop: 1 };
    return { step, layerStop: layerStop < layers ? layerStop + 1 : null };
  }
  if (layerStop === null) return { step, layerStop: layers };
  if (layerStop > 1) return { step, layerStop: layerStop - 1 };
  return step > 0 ? { step: step - 1, layerStop: null } : { step, layerStop };
}
