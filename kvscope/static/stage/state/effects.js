/** The measured effects of switching parts of the model, as the store has them by run, step, kinds of parts and how they are switched. */

/**
 * @typedef {"idle"|"running"|"stopped"|"done"|"failed"} Status
 * @typedef {{switch: string, source: string, foil: number|null}} How `source`: other prompts; `foil`: id of a token, null for the default
 */

/** @type {{status: Status, base: Object|null, other: Object|null, foil: Object|null, prompts: string[], effects: Object[], count: number, ms: number, problem: Object|null}} */
const NONE = {
  ...{ status: "idle", base: null, other: null, foil: null, prompts: [], effects: [], count: 0, ms: 0 },
  problem: null,
};

/** The kinds of parts in a measurement of all heads. */
export const HEADS_OFF = ["heads"];

/** What the reader has chosen in the view: `resample` and `reference` are the texts that they typed for these switches. */
const CHOICE = { switch: "zero", resample: "", reference: "", foil: null, measure: "kl" };
const CHOSEN = "choice";

/** @returns {typeof CHOICE} */
export const choiceOf = (state) => state.effects[CHOSEN] ?? CHOICE;

/** Changes a part of the choice; what was typed for other switches stays. */
export function choose(state, dispatch, part) {
  dispatch({ type: "effects", key: CHOSEN, found: { ...choiceOf(state), ...part } });
}

/** @returns {How} how a choice switches parts, or another switch with the same texts */
export function howOf(choice, by = choice.switch) {
  return { switch: by, source: choice[by] ?? "", foil: choice.foil };
}

/** @param {How} how @returns {Object} parameters of a request; those of the defaults are left out, as in answers that were stored before there was a choice */
export function parametersOf({ switch: by = "zero", source = "", foil = null }) {
  return {
    ...(by === "zero" ? {} : { switch: by }),
    ...(source ? { source } : {}),
    ...(foil === null ? {} : { foil }),
  };
}

/** @param {{run: string, step: number, kinds: string[], how?: How}} about @returns {string} */
export function effectsKey({ run, step, kinds, how }) {
  return [run, step, ...kinds, ...(how ? Object.values(parametersOf(how)) : [])].join(" ");
}

/** @returns {typeof NONE} the measurement; NONE before it begins */
export function effectsOf(state, about) {
  return state.effects[effectsKey(about)] ?? NONE;
}
