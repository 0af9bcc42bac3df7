/**
 * What a part of the page may know while a step sweeps up through the layers: nothing that the sweep has not reached. Until
 * then it shows the step before, or, in prefill, what it shows of a run that is awaited. Pure.
 */

/**
 * @param {{step: number, reveal: number, run: Object|null, selection: {layer: number}}} state
 * @returns {{settled: number, reached: number}} the newest step whose layers are all there, and the newest that has reached
 *   the selected layer; -1 while prefill is on its way
 */
export function sweptSteps({ step, reveal, run, selection }) {
  if (!run?.steps.length) return { settled: 0, reached: 0 };
  const newestFrom = (layers) => (reveal >= layers ? step : step - 1);
  return { settled: newestFrom(run.layers), reached: newestFrom(selection.layer + 1) };
}

/**
 * The newest step that may be spoken of: while a step sweeps or plays, what is recorded but has not come yet is left out.
 *
 * @param {{playing: boolean, settled: number, step: number}} state
 * @returns {number} −1 while prefill is on its way; infinite at rest
 */
export function knownStep({ playing, settled, step }) {
  return playing || settled < step ? settled : Number.POSITIVE_INFINITY;
}

/** @returns {boolean} whether nothing of the run can be shown yet but its places */
export function isAwaited({ run, step }) {
  return Boolean(run?.awaited) || (run?.steps.length > 0 && step < 0);
}

/** @returns {Object} the state as it is for what speaks of a whole step: its choice, its totals */
export function whenSettled(state) {
  return state.settled === state.step ? state : { ...state, step: state.settled };
}

/** @returns {Object} the state as it is for what shows the selected layer */
export function whenReached(state) {
  return state.reached === state.step ? state : { ...state, step: state.reached };
}
