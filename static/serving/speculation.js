/**
 * The experiment with guesses: answers that repeat what was said before, and one that is new. What it comes to rests on passes and right
 * guesses, which are the same on any machine; times are second. Pure.
 */

import { fixed, integer, percent } from "../facts/format.js";
import { guesses, mean, ownPasses, tokensPerPass } from "./measures.js";
import { NEW, REPEATED } from "./prompts.js";

const TOKENS = 32;
/** So much fewer passes are a saving. */
const SAVED = 0.9;

/** Columns of its outcome. */
const KINDS = [
  { group: "repeats the question", isOf: isRepeated },
  { group: "is new", isOf: (request) => !isRepeated(request) },
];

/** Rows of its outcome. `of`: of a round's facts and of whether a request is counted. */
const ROWS = [
  {
    name: "right guesses",
    of: ({ round }, isOf) => shareOf(guesses(round, isOf)),
    format: wholePercent,
    better: /** @type {const} */ ("more"),
  },
  {
    name: "passes",
    of: ({ round }, isOf) => ownPasses(round, isOf),
    format: integer,
    better: /** @type {const} */ ("less"),
  },
  {
    name: "tokens a pass",
    of: ({ answers }, isOf) => tokensPerPass(answers.filter(({ request }) => isOf(request))),
    format: oneDecimal,
    better: /** @type {const} */ ("more"),
  },
  {
    name: "rows computed for nothing",
    of: ({ round }, isOf) => wrongOf(guesses(round, isOf)),
    format: integer,
    better: /** @type {const} */ ("less"),
  },
  {
    name: "ms a token, measured once",
    of: ({ answers }, isOf) => msPerToken(answers.filter(({ request }) => isOf(request))),
    format: integer,
    better: /** @type {const} */ ("less"),
  },
];
const [RIGHT, PASSES, , WRONG] = ROWS.map((_, at) => at * KINDS.length);

/** One of the list in experiments.js. */
export const SPECULATION = {
  id: "draft",
  name: "Speculative decoding",
  about:
    "Off: a pass gives one word. On: the next 4 words are guessed from what was said before, one pass checks them all, and the right ones are kept. Three people want a sentence said again, a fourth wants a new one.",
  setting: "draft",
  values: [
    { value: null, name: "off" },
    { value: { tokens: 4, layers: 0 }, name: "guess 4" },
  ],
  prepare: ({ settings }) => ({
    system: "",
    requests: [...REPEATED, NEW].map((prompt) => ({ ...ASKED, prompt })),
    settings: { ...settings, at_once: 1 },
  }),
  figures: ROWS.flatMap(({ name, of, format, better }) =>
    KINDS.map(({ group, isOf }) => ({
      ...{ name, group, format, better },
      of: (facts) => of(facts, (request) => isOf(facts.requests[request])),
    })),
  ),
  says: (before, after) => {
    const [repeats, fresh] = KINDS.map(({ group }, kind) =>
      cameTo(group, before[PASSES + kind], after[PASSES + kind], after[RIGHT + kind], after[WRONG + kind]),
    );
    return `${repeats} ${fresh} Only a right guess saves a pass; a wrong one is a row computed for nothing.`;
  },
};

const ASKED = { max_new_tokens: TOKENS, arrives_ms: 0, cancel_ms: null, retry_of: null };

function cameTo(group, before, after, right, wrong) {
  const share = right === null ? "nothing could be guessed" : `${wholePercent(right)} of the guesses were right`;
  if (after <= SAVED * before)
    return `It pays where the answer ${group}: ${share}, and ${integer(after)} passes did the work of ${integer(before)}.`;
  const lost = wrong ? `, with ${integer(wrong)} more rows to compute` : "";
  return `It does not pay where the answer ${group}: ${share}, and it still took ${integer(after)} passes (${integer(before)} without)${lost}.`;
}

/** Of a request that is told to repeat what it says. */
function isRepeated({ prompt }) {
  return REPEATED.includes(prompt);
}

function shareOf({ guessed, right }) {
  return guessed ? right / guessed : null;
}

function wrongOf({ guessed, right }) {
  return guessed - right;
}

/** Between the first word and the last. */
function msPerToken(answers) {
  return mean(
    answers
      .filter(({ words }) => words.length > 1)
      .map(({ words }) => (words.at(-1).ms - words[0].ms) / (words.length - 1)),
  );
}

function wholePercent(value) {
  return percent(value, 0);
}

function oneDecimal(value) {
  return fixed(value, 1);
}
