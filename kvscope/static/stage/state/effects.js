/** The measured effects of switching parts of the model off, as the store has them by run, step and kinds of parts. */

/**
 * @typedef {"idle"|"running"|"stopped"|"done"|"failed"} Status
 */

/** @type {{status: Status, base: Object|null, effects: Object[], count: number, ms: number, problem: Object|null}} */
const NONE = { status: "idle", base: null, effects: [], count: 0, ms: 0, problem: null };

/** The kinds of parts in a measurement of all heads. */
export const HEADS_OFF = ["heads"];

/** @param {{run: string, step: number, kinds: string[]}} about @returns {string} */
export function effectsKey({ run, step, kinds }) {
  return [run, step, ...kinds].join(" ");
}

/** @returns {typeof NONE} the measurement; NONE before it begins */
export function effectsOf(state, about) {
  return state.effects[effectsKey(about)] ?? NONE;
}
