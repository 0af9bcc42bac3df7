/** The viewer's progress in each lesson, stored on this device only. */

import { answeredIn, isOver, shownAnswer } from "./state.js";

/**
 * @typedef {{step: number, done: number[], answered?: number[], given?: Object<number, {given: string, right: boolean}>}} Reached steps, from 0:
 *   the last one, those with their tasks done, those answered; `given`: the answers themselves
 */

/** @typedef {{read: () => Reached|undefined, write: (reached: Reached) => string|null}} Progress of one lesson. `write`: returns what the reader must know about it */

const NAME = "kvscope.lessons";

/** @param {{getItem: Function, setItem: Function}} storage @returns {Object<string, Reached>} by lesson */
export function readProgress(storage) {
  try {
    const progress = JSON.parse(storage.getItem(NAME) ?? "{}");
    return typeof progress === "object" && progress !== null ? progress : {};
  } catch {
    return {};
  }
}

/** Writes a lesson's progress after that of the others: the last one is where the viewer was. @param {Reached} reached */
export function writeProgress(storage, id, reached) {
  const { [id]: _before, ...others } = readProgress(storage);
  storage.setItem(NAME, JSON.stringify({ ...others, [id]: reached }));
}

/** @param {{getItem: Function, setItem: Function}} storage @returns {Progress} kept on this device */
export function progressOn(storage, id) {
  return {
    read: () => readProgress(storage)[id],
    write(reached) {
      writeProgress(storage, id, reached);
      return null;
    },
  };
}

/** @returns {Reached} what is stored of a lesson's state */
export function reachedIn(state) {
  const answered = answeredIn(state);
  const over = answered.filter((at) => isOver(state.answers[at]));
  const given = over.map((at) => [at, { given: state.answers[at].given, right: state.answers[at].right }]);
  return { step: state.index, done: state.done, answered, given: Object.fromEntries(given) };
}

/** @returns {Object<number, Object>} the answers of an earlier visit, for the steps that were answered then */
export function answersOf(reached) {
  return Object.fromEntries((reached?.answered ?? []).map((at) => [at, shownAnswer(reached.given?.[at])]));
}

/** @returns {number} the step where the viewer was on an earlier visit, from 0; the first one of a lesson that was read to its end */
export function stepReached(reached, steps) {
  const step = reached?.step ?? 0;
  return step < steps - 1 ? step : 0;
}

/** @returns {number|null} the step in a lesson's address, which counts from 1; a number beyond the end, as of a longer lesson, is the last */
export function stepOfHash(hash, steps) {
  const text = hash.replace(/^#/, "");
  return /^\d{1,3}$/.test(text) && Number(text) >= 1 ? Math.min(Number(text), steps) - 1 : null;
}
