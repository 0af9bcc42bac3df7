/**
 * The experiment with speculative decoding: answers that repeat their prompt, and one that is new. Its conclusion depends on passes and
 * right guesses, which are the same on any machine, and not on times. Pure.
 */

import { fixed, integer, percent } from "../shared/facts/format.js";
import { passCount, rowCount } from "../shared/words/counts.js";
import { msg } from "../shared/words/msg.js";
import { median } from "../stage/time/facts.js";
import { afterFirst, guesses, tokensPerPass } from "./measures.js";
import { NEW, REPEATED } from "./prompts.js";

const TOKENS = 32;
/** At most this share of the passes counts as a saving. */
const SAVED = 0.9;

/** Columns of its outcome. */
const KINDS = [
  {
    group: msg`repeats the prompt`,
    helps: msg`Guessing helps when the answer repeats the prompt.`,
    fails: msg`Guessing does not help when the answer repeats the prompt.`,
    isOf: isRepeated,
  },
  {
    group: msg`is new`,
    helps: msg`Guessing helps when the answer is new.`,
    fails: msg`Guessing does not help when the answer is new.`,
    isOf: (request) => !isRepeated(request),
  },
];

/** Rows of its outcome. `of`: of a round's facts and of whether a request is counted. */
const ROWS = [
  {
    name: msg`right guesses`,
    of: ({ round }, isOf) => shareOf(guesses(round, isOf)),
    format: wholePercent,
    better: /** @type {const} */ ("more"),
  },
  {
    name: msg`passes`,
    of: ({ answers }, isOf) => afterFirst(answers.filter(({ request }) => isOf(request))).passes,
    format: integer,
    better: /** @type {const} */ ("less"),
  },
  {
    name: msg`tokens per pass`,
    of: ({ answers }, isOf) => tokensPerPass(answers.filter(({ request }) => isOf(request))),
    format: oneDecimal,
    better: /** @type {const} */ ("more"),
  },
  {
    name: msg`rows of wrong guesses`,
    of: ({ round }, isOf) => wrongOf(guesses(round, isOf)),
    format: integer,
    better: /** @type {const} */ ("less"),
  },
  {
    name: msg`ms per token, by the median pass`,
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

/** An entry of the list in experiments.js. */
export const SPECULATION = {
  id: "draft",
  name: msg`Speculative decoding`,
  about: msg`Off: one token per pass. On: the engine guesses the next 4 tokens from the text so far, and one pass checks them all. Three prompts ask to repeat a sentence, a fourth asks for a new one.`,
  setting: "draft",
  values: [
    { value: null, name: msg`off` },
    { value: { tokens: 4, layers: 0 }, name: msg`guess 4` },
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
  method: msg`Passes and tokens count from the second token of each answer. A time is the median pass with guesses times their number, plus the same without guesses, per token.`,
  conclusion: ({ values: before }, { values: after }) => {
    const [repeats, fresh] = KINDS.map((each, kind) =>
      conclusionFor(each, before[PASSES + kind], after[PASSES + kind], after[RIGHT + kind], after[WRONG + kind]),
    );
    const rule = msg`Only a right guess saves a pass; the row of a wrong guess is wasted.`;
    return `${repeats} ${fresh} ${rule}`;
  },
};

const ASKED = { max_new_tokens: TOKENS, arrives_ms: 0, cancel_ms: null, retry_of: null };

function conclusionFor({ helps, fails }, before, after, right, wrong) {
  const passes = msg`It took ${passCount(after)} with guesses and ${integer(before)} without.`;
  return [
    pays(before, after) ? helps : fails,
    right === null ? msg`There was nothing to guess.` : msg`Right guesses: ${wholePercent(right)}.`,
    passes,
    !pays(before, after) && wrong && msg`Wrong guesses cost ${rowCount(wrong)}.`,
  ]
    .filter(Boolean)
    .join(" ");
}

function pays(before, after) {
  return after <= SAVED * before;
}

/** @returns {string|null} a text where the times of these answers contradict their passes */
function againstPasses(kind, before, after) {
  const [passes, time] = [PASSES + kind, TIME + kind];
  if (before[time] === null || after[time] === null) return null;
  const against = pays(before[passes], after[passes]) ? after[time] > before[time] : pays(before[time], after[time]);
  return against ? msg`the times contradict this` : null;
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

/**
 * Each pass after the first token is taken to last as long as the median of its kind, with guesses or without: one that was held up by
 * something else counts no more than any.
 */
function msPerToken({ passes }, answers) {
  const { tokens } = afterFirst(answers);
  if (!tokens) return null;
  const later = new Set(answers.flatMap(({ outputs }) => outputs.slice(1).map(({ pass }) => pass)));
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
