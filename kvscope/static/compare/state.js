/** The state of the page: two sides, and the selected step, layer and head. `reduce` is pure; logs grow in place, and `version` changes when they do. */

import { changed } from "../shared/state/create-store.js";

/** `id`: of a run or a saved session, null for none; `log`: null until its first frame. */
const NO_SIDE = { id: null, log: null, problem: null };
const OPENING = { moment: null, layer: null, head: null };

export const initialState = { a: NO_SIDE, b: NO_SIDE, place: OPENING, version: 0 };

const REDUCERS = {
  /** Shows another run on a side. */
  show: (_state, { side, id }) => ({ [side]: { ...NO_SIDE, id } }),
  opened: (state, { side, log }) => ({ [side]: { ...state[side], log } }),
  failed: (state, { side, problem }) => ({ [side]: { ...state[side], log: null, problem } }),
  grew: (state) => ({ version: state.version + 1 }),
  place: (state, { place }) => ({ place: { ...state.place, ...place } }),
  reset: (_state, { place = {} }) => ({ place: { ...OPENING, ...place } }),
  swap: (state) => ({ a: state.b, b: state.a, version: state.version + 1 }),
};

/** @returns {Object} the next state. @throws {RangeError} for an unknown action */
export function reduce(state, action) {
  return changed(REDUCERS, state, action);
}

/** @returns {boolean} whether both logs have opened, so that they can be compared */
export function isComparable({ a, b }) {
  return Boolean(a.log?.open && b.log?.open);
}
