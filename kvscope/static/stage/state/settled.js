/**
 * What a part of the page may show during the sweep of a step: nothing that the sweep has not reached. Until then it shows the
 * previous step, or, in prefill, its empty state. Pure.
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
 * @returns {number} −1 during the sweep of prefill; infinite at rest
 */
export function knownStep({ playing, settled, step }) {
  return playing || settled < step ? settled : Number.POSITIVE_INFINITY;
}

/** @returns {boolean} whether nothing of the run can be shown yet except its layout */
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
