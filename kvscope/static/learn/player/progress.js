/** The viewer's progress in each lesson, stored on this device only. */

/** @typedef {{step: number, done: number[], answered?: number[]}} Reached steps, from 0: the last one, those with their tasks done, those answered */

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

/** @param {Reached} reached */
export function writeProgress(storage, id, reached) {
  storage.setItem(NAME, JSON.stringify({ ...readProgress(storage), [id]: reached }));
}

/** @returns {number[]} the steps whose predictions are answered or revealed */
export function answeredIn({ answers }) {
  return Object.keys(answers)
    .filter((at) => answers[at].right || answers[at].revealed)
    .map(Number);
}

/** @returns {Object<number, Object>} revealed answers, for steps that were answered on an earlier visit */
export function answersOf(reached) {
  const shown = { given: "", tries: 0, right: false, problem: false, revealed: true };
  return Object.fromEntries((reached?.answered ?? []).map((at) => [at, shown]));
}
