/**
 * The state of a lesson. `shown`: what the picture shows; `answers`: the answers to predictions, by step; `asked`: steps that were answered
 * on an earlier visit or over another run; `hints`: the number of open hints, by step and block; `done`: steps whose task is done. Pure.
 */

import { numberOf } from "../../shared/facts/typed-number.js";
import { changed } from "../../shared/state/create-store.js";
import { holds } from "./conditions.js";

export const initialState = {
  lesson: null,
  index: 0,
  shown: null,
  /** Whether the picture has reached the place of the current step; until then it shows the previous step. */
  settled: false,
  /** The viewer's own run that the numbers are computed from; null: the lesson's run. */
  run: null,
  answers: {},
  asked: [],
  hints: {},
  done: [],
  lit: [],
  /** The address of a link in the prose that the viewer pressed; null: the picture shows the step's address. */
  linked: null,
  /** How often such a link was pressed: after the viewer has moved the picture, the same link brings it back. */
  presses: 0,
  folded: false,
  /** Whether the followers of a room answer the question together, so that the lesson neither asks nor answers it. */
  held: false,
  problem: null,
  /** How often the viewer has gone back from an own run to the lesson's. */
  returns: 0,
};

const REDUCERS = {
  /** The lesson, computed over the run `run`; null: over its own recording, which the picture does not show yet. */
  lesson: (state, { lesson, run }) => ({
    ...{ lesson, run, problem: null, shown: run ? state.shown : null },
    ...asking(state, lesson),
  }),
  /** Leaves the own run: `lesson` is over its own recording. */
  back: (state, { lesson }) => ({
    ...{ lesson, run: null, problem: null, shown: null, returns: state.returns + 1 },
    ...asking(state, lesson),
  }),
  go: (state, { to }) => ({
    index: clamp(to, state.lesson.steps.length - 1),
    lit: [],
    linked: null,
    folded: false,
    settled: false,
  }),
  shown: (state, { shown }) => {
    const settled = state.settled || isAt(state, shown);
    const done = settled ? withDone(state, shown) : state.done;
    // On a phone the text returns over the picture, because it says that the task is done.
    const folded = state.folded && done === state.done;
    return { shown, settled, done, folded, answers: settled ? withCell(state, shown) : state.answers };
  },
  answer: (state, { given }) => ({
    answers: { ...state.answers, [state.index]: answered(state, given) },
    linked: null,
  }),
  reveal: (state) => ({
    answers: { ...state.answers, [state.index]: shownAnswer(state.answers[state.index]) },
    linked: null,
  }),
  link: ({ presses }, { to }) => ({ linked: to, presses: presses + 1 }),
  hint: (state, { block }) => {
    const name = `${state.index}.${block}`;
    return { hints: { ...state.hints, [name]: (state.hints[name] ?? 0) + 1 } };
  },
  light: (_state, { names }) => ({ lit: names }),
  fold: (_state, { folded }) => ({ folded }),
  hold: (_state, { held }) => ({ held }),
  problem: (_state, { problem }) => ({ problem }),
};

/** @returns {Object} the next state. @throws {RangeError} for an unknown action */
export const reduce = (state, action) => changed(REDUCERS, state, action);

const clamp = (value, last) => Math.min(Math.max(value, 0), last);

/** Fields that change as soon as a run or an experiment starts, before its result exists. */
const OF_WHAT_RUNS = ["run", "prompt", "branched_at", "experiment"];

/** Adds the task of the step if it is done. It stays done, whatever the picture shows later. A task that starts a run is done when the run ends. */
function withDone({ lesson, index, done }, shown) {
  const task = lesson.steps[index]?.do;
  if (!task || done.includes(index) || !holds(task.check, shown)) return done;
  const awaits = shown.ended === false && OF_WHAT_RUNS.some((field) => field in task.check);
  return awaits ? done : [...done, index];
}

/** Marks the prediction of a place as right once that place is clicked. */
function withCell({ lesson, index, answers }, shown) {
  const cell = lesson.steps[index]?.predict?.cell;
  if (!cell || answers[index]?.right || !holds(cell, shown)) return answers;
  return { ...answers, [index]: { given: "", tries: 1, right: true, problem: false } };
}

/**
 * Keeps the answers to the questions whose right answer is the same over another run. The others are asked anew.
 *
 * @param {Object} lesson over the run that the picture shows now; a prediction may still be computed there or here
 */
function asking(state, lesson) {
  const isSame = (at) => {
    const [before, now] = [state.lesson, lesson].map(({ steps }) => steps[at].predict);
    return !before || !now || (before.number === now.number && before.answer === now.answer);
  };
  const answers = Object.fromEntries(Object.entries(state.answers).filter(([at]) => isSame(Number(at))));
  return { answers, asked: answeredIn(state) };
}

/** @returns {number[]} steps whose predictions have been answered or revealed */
export function answeredIn({ answers, asked }) {
  const over = Object.keys(answers).filter((at) => isOver(answers[at]));
  return [...new Set([...asked, ...over.map(Number)])];
}

/**
 * A number is given once: the page then says the right one. A choice can be given until it is right.
 *
 * @returns {{given: string, tries: number, right: boolean, problem: boolean, revealed?: boolean}} `problem`: the text is not a number
 */
function answered({ lesson, index, answers }, given) {
  const predict = lesson.steps[index].predict;
  const tries = (answers[index]?.tries ?? 0) + 1;
  if (predict.number === null) return { given, tries, right: given === predict.answer, problem: false };
  const number = numberOf(given);
  if (number === null) return { given, tries: tries - 1, right: false, problem: true };
  const room = Math.abs(predict.number) * predict.within;
  const right = Math.abs(number - predict.number) <= room + 1e-9;
  return { given, tries, right, problem: false, revealed: true };
}

/**
 * @returns {string|null} the address that the picture shows in the current step. After the first answer, right or wrong, it is the
 *   address that explains the answer, also on a later visit
 */
export function pictureAt({ lesson, index, answers, linked }) {
  const { at, predict } = lesson.steps[index];
  const answer = answers[index];
  if (linked || !predict || !(answer?.tries > 0 || answer?.revealed)) return linked ?? at;
  const chosen = predict.choices.find(({ text }) => text === answer.given);
  return (!isOver(answer) && chosen?.shows) || predict.shows || at;
}

/** @returns {Object} an answer that is shown. @param {{given: string, right: boolean}} [answer] what the reader said, if anything */
export function shownAnswer({ given, right } = { given: "", right: false }) {
  return { given, right, tries: 0, problem: false, revealed: true };
}

/** @returns {boolean} whether a question is answered or revealed */
export function isOver(answer) {
  return Boolean(answer?.right || answer?.revealed);
}

/** @returns {boolean} whether a step's prediction is answered or revealed, now or earlier, or it has none */
export function isAnswered(state, index) {
  return !state.lesson.steps[index].predict || answeredIn(state).includes(index);
}

/** @returns {boolean} whether everything that a step asks for is done */
export function isDone(state, index) {
  return isAnswered(state, index) && (!state.lesson.steps[index].do || state.done.includes(index));
}

/**
 * @returns {number|null} the step of the lesson about what the picture shows, the nearest to the current one; null without such a
 *   step, or if the current step has an open task
 */
export function stepOf(state, shown) {
  const { lesson, index, settled } = state;
  if (!settled || !isDone(state, index)) return null;
  const here = placeOf(lesson.steps[index].at);
  if (here.page !== shown.page || here.step === shown.step) return null;
  // The picture that a task asks for belongs to the task, and the one that explains an answer to the question.
  const task = lesson.steps[index].do;
  if (task && holds(task.check, shown)) return null;
  if (placeOf(pictureAt({ ...state, linked: null })).step === shown.step) return null;
  const others = lesson.steps
    .map(({ at }, at_) => ({ ...placeOf(at), index: at_ }))
    .filter(({ page, step }) => page === shown.page && step !== undefined && step === shown.step)
    .sort((a, b) => Math.abs(a.index - index) - Math.abs(b.index - index));
  return others[0]?.index ?? null;
}

/** @returns {{page: string, step?: number}} the page and the run's step in an address of a lesson */
function placeOf(address) {
  const { pathname, hash } = new URL(address ?? "/", "http://lesson");
  const step = new URLSearchParams(hash.slice(1)).get("step");
  return { page: pathname.split("/")[1] || "stage", step: step === null ? undefined : Number(step) };
}

function isAt(state, shown) {
  const { page, step } = placeOf(pictureAt(state));
  return page === shown.page && (step === undefined || step === shown.step);
}

/**
 * @param {Object|null} shown what the picture shows
 * @param {string|null} recording the lesson's own run
 * @param {string|null} current the run that the lesson is computed over; null: its own
 * @returns {string|null} the run to compute it over: one that has ended. A page that opens `current` again has not read its end yet
 */
export function followedRun(shown, recording, current) {
  if (shown?.page !== "stage" || shown.run === recording) return null;
  return shown.ended || shown.run === current ? shown.run : null;
}
