/**
 * Figures of rounds that guess tokens, for answers that repeat their prompt and for one that is new. All but the times are the same on
 * any machine. Pure.
 */

import { fixed, integer, percent } from "../shared/facts/format.js";
import { median } from "../shared/facts/median.js";
import { msg } from "../shared/words/msg.js";
import { afterFirst, guesses } from "./measures.js";
import { NEW, REPEATED } from "./prompts.js";

const TOKENS = 32;
/** Weights per token, in whole passes, that still count as a saving. */
const SAVED = 0.9;

/** Groups of the figures. */
export const KINDS = [
  { group: msg`repeats the prompt`, isOf: isRepeated },
  { group: msg`is new`, isOf: (request) => !isRepeated(request) },
];

/** `of` takes the facts of a round, the answers of one kind, and a function that says whether a request is of that kind. */
const ROWS = {
  right: {
    name: msg`right guesses`,
    of: ({ round }, _answers, isOf) => shareOf(guesses(round, isOf)),
    format: (value) => percent(value, 0),
    better: /** @type {const} */ ("more"),
  },
  passes: {
    name: msg`passes`,
    of: (_facts, answers) => afterFirst(answers).passes,
    format: integer,
    better: /** @type {const} */ ("less"),
  },
  wrong: {
    name: msg`rows of wrong guesses`,
    of: ({ round }, _answers, isOf) => wrongOf(guesses(round, isOf)),
    format: integer,
    better: /** @type {const} */ ("less"),
  },
  weights: {
    name: msg`weights read per token (1: all of them once)`,
    of: ({ round }, answers) => weightsPerToken(round, answers),
    format: (value) => fixed(value, 2),
    better: /** @type {const} */ ("less"),
  },
  time: {
    name: msg`ms per token, by the median pass`,
    of: ({ round }, answers) => msPerToken(round, answers, ({ ms }) => ms),
    format: (value) => fixed(value, 0),
    better: /** @type {const} */ ("less"),
  },
  guessing: {
    name: msg`of it, guessing`,
    of: ({ round }, answers) => msPerToken(round, answers, ({ draft }) => draft?.ms ?? 0),
    format: (value) => fixed(value, 1),
    better: /** @type {const} */ ("less"),
  },
};

/** @typedef {keyof typeof ROWS} Row */

/**
 * @param {Row[]} rows
 * @returns {{name: string, group: string, of: (facts: Object) => number|null, format: (value: number) => string, better: "more"|"less",
 *   against: ((before: any[], after: any[]) => string|null)|undefined}[]} one per row and kind of answer
 */
export function guessFigures(rows) {
  return rows.flatMap((row) => {
    const { name, of, format, better } = ROWS[row];
    return KINDS.map(({ group, isOf }, kind) => ({
      ...{ name, group, format, better },
      against: row === "time" ? (before, after) => againstWeights(rows, kind, before, after) : undefined,
      of: (facts) => {
        const isCounted = (request) => isOf(facts.requests[request]);
        const answers = facts.answers.filter(({ request }) => isCounted(request));
        return of(facts, answers, isCounted);
      },
    }));
  });
}

/** @returns {number|null} a value of `guessFigures(rows)` */
export function guessValue(values, rows, row, kind) {
  return values[rows.indexOf(row) * KINDS.length + kind];
}

/** @returns {boolean} whether so many weights per token, in whole passes, are a saving */
export function saves(weights) {
  return weights !== null && weights <= SAVED;
}

/** @returns {string|null} a text where the times of these answers contradict the weights that they read */
function againstWeights(rows, kind, before, after) {
  const value = (values, row) => guessValue(values, rows, row, kind);
  const [was, is] = [value(before, "time"), value(after, "time")];
  if (was === null || is === null) return null;
  const against = saves(value(after, "weights")) ? is > was : is <= SAVED * was;
  return against ? msg`the times contradict this` : null;
}

const ASKED = { max_new_tokens: TOKENS, arrives_ms: 0, cancel_ms: null, retry_of: null };

/** Replaces the requests by four, served one after the other: three ask for a repetition, one does not. */
export function asksForGuesses({ settings }) {
  return {
    system: "",
    requests: [...REPEATED, NEW].map((prompt) => ({ ...ASKED, prompt })),
    settings: { ...settings, at_once: 1 },
  };
}

/** @returns {boolean} whether the prompt asks to repeat it */
function isRepeated({ prompt }) {
  return REPEATED.includes(prompt);
}

function shareOf({ guessed, right }) {
  return guessed ? right / guessed : null;
}

function wrongOf({ guessed, right }) {
  return guessed - right;
}

/** Passes that gave tokens after the first of each answer. */
function laterPasses({ passes }, answers) {
  const later = new Set(answers.flatMap(({ outputs }) => outputs.slice(1).map(({ pass }) => pass)));
  return passes.filter(({ number }) => later.has(number));
}

/** Reads of all weights per token after the first of each answer, those of the draft included. */
function weightsPerToken(round, answers) {
  const { tokens } = afterFirst(answers);
  if (!tokens) return null;
  const read = laterPasses(round, answers).map(({ draft, weight_bytes: all }) =>
    draft?.weight_bytes ? 1 + draft.weight_bytes / all : 1,
  );
  return read.reduce((sum, each) => sum + each, 0) / tokens;
}

/**
 * Computes the time per token from the median pass of each kind, with guesses and without, so that one delayed pass changes little.
 */
function msPerToken(round, answers, msOf) {
  const { tokens } = afterFirst(answers);
  if (!tokens) return null;
  const later = laterPasses(round, answers);
  const [guessed, plain] = [true, false].map((wanted) =>
    later.filter(({ members }) => members.some((member) => member.guessed > 0) === wanted).map(msOf),
  );
  const lasted = (times) => (times.length ? times.length * median(times) : 0);
  return (lasted(guessed) + lasted(plain)) / tokens;
}
