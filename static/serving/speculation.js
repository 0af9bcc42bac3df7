/**
 * The experiment with guesses: answers that repeat what was said before, and one that is new. What it comes to rests on passes and right
 * guesses, which are the same on any machine; times are second. Pure.
 */

import { fixed, integer, percent } from "../shared/facts/format.js";
import { median } from "../stage/time/facts.js";
import { afterFirst, guesses, tokensPerPass } from "./measures.js";
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
    of: ({ answers }, isOf) => afterFirst(answers.filter(({ request }) => isOf(request))).passes,
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
    name: "ms a token, by the median pass",
    of: ({ round, answers }, isOf) =>
      msPerToken(
        round,
        answers.filter(({ request }) => isOf(request)),
      ),
    format: integer,
    better: /** @type {const} */ ("less"),
    against: againstPasses,
  },
];
const [RIGHT, PASSES, , WRONG, TIME] = ROWS.map((_, at) => at * KINDS.length);

/** One of the list in experiments.js. */
export const SPECULATION = {
  id: "draft",
  name: "Speculative decoding",
  about:
    "Off: a pass gives one token. On: the next 4 tokens are guessed from what was said before, one pass checks them all, and the right ones are kept. Three people want a sentence said again, a fourth wants a new one.",
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
  figures: ROWS.flatMap(({ name, of, format, better, against }) =>
    KINDS.map(({ group, isOf }, kind) => ({
      ...{ name, group, format, better },
      against: against && ((before, after) => against(kind, before, after)),
      of: (facts) => of(facts, (request) => isOf(facts.requests[request])),
    })),
  ),
  leftOut:
    "Passes and tokens are counted from the second token of each answer on: the first comes of reading the prompt. A time is the median pass with guesses, and the median without, times how many there were.",
  says: ({ values: before }, { values: after }) => {
    const [repeats, fresh] = KINDS.map(({ group }, kind) =>
      cameTo(group, before[PASSES + kind], after[PASSES + kind], after[RIGHT + kind], after[WRONG + kind]),
    );
    return `${repeats} ${fresh} Only a right guess saves a pass; a wrong one is a row computed for nothing.`;
  },
};

const ASKED = { max_new_tokens: TOKENS, arrives_ms: 0, cancel_ms: null, retry_of: null };

function cameTo(group, before, after, right, wrong) {
  const share = right === null ? "nothing could be guessed" : `${wholePercent(right)} of the guesses were right`;
  if (pays(before, after))
    return `It pays where the answer ${group}: ${share}, and ${integer(after)} passes did the work of ${integer(before)}.`;
  const lost = wrong ? `, with ${integer(wrong)} more rows to compute` : "";
  return `It does not pay where the answer ${group}: ${share}, and it still took ${integer(after)} passes (${integer(before)} without)${lost}.`;
}

function pays(before, after) {
  return after <= SAVED * before;
}

/** @returns {string|null} where the times of these answers go against what their passes say */
function againstPasses(kind, before, after) {
  const [passes, time] = [PASSES + kind, TIME + kind];
  if (before[time] === null || after[time] === null) return null;
  const against = pays(before[passes], after[passes]) ? after[time] > before[time] : pays(before[time], after[time]);
  return against ? "the times say otherwise" : null;
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

/**
 * Each pass after the first token is taken to last as long as the median of its kind, with guesses or without: one that was held up by
 * something else counts no more than any.
 */
function msPerToken({ passes }, answers) {
  const { tokens } = afterFirst(answers);
  if (!tokens) return null;
  const later = new Set(answers.flatMap(({ words }) => words.slice(1).map(({ pass }) => pass)));
  const [guessed, plain] = [true, false].map((wanted) =>
    passes
      .filter(({ number, members }) => later.has(number) && members.some((member) => member.guessed > 0) === wanted)
      .map(({ ms }) => ms),
  );
  const lasted = (times) => (times.length ? times.length * median(times) : 0);
  return (lasted(guessed) + lasted(plain)) / tokens;
}

function wholePercent(value) {
  return percent(value, 0);
}

function oneDecimal(value) {
  return fixed(value, 1);
}
