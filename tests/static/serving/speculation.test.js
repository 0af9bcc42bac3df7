import assert from "node:assert/strict";
import { test } from "node:test";
import { REPEATED } from "../../../static/serving/prompts.js";
import { SPECULATION } from "../../../static/serving/speculation.js";
import { answersOf } from "../../../static/serving/tally.js";
import { token } from "../support/wire.js";
import { folded, REQUESTS } from "./made.js";

const { figures } = SPECULATION;
const says = (before, after) => SPECULATION.says({ values: before }, { values: after });
/** A value per figure: right guesses, passes, tokens a pass, rows for nothing, ms; each of both kinds of answers. */
const OFF = [null, null, 41, 31, 1, 1, 0, 0, 161, 126];
const ON = [0.78, 0, 16, 31, 3.1, 1, 7, 52, 156, 130];

/** A round's facts, where these requests are told to repeat what they say. */
function factsOf(round, repeated) {
  const requests = structuredClone(REQUESTS).map((each, at) =>
    repeated.includes(at) ? { ...each, prompt: REPEATED[0] } : each,
  );
  return { round, requests, answers: answersOf(round, requests), blockSize: 4 };
}

/** Of answers that repeat the question. */
const time = (facts) => figures.at(-2).of(facts);

test("it pays where guesses were right and passes are saved, and elsewhere it does not", () => {
  assert.equal(
    says(OFF, ON),
    "It pays where the answer repeats the question: 78\u202f% of the guesses were right, and 16 passes did the work of 41. " +
      "It does not pay where the answer is new: 0\u202f% of the guesses were right, and it still took 31 passes (31 without), with 52 more rows to compute. " +
      "Only a right guess saves a pass; a wrong one is a row computed for nothing.",
  );
  const nothing = ON.with(1, null).with(7, 0);
  assert.match(says(OFF, nothing), /is new: nothing could be guessed, and it still took 31 passes \(31 without\)\./);
});

test("what it comes to does not hang on the clock", () => {
  assert.equal(says(OFF, ON), says(OFF, ON.with(8, 5000).with(9, 5)));
});

test("tokens, passes and tokens a pass are of the same words", () => {
  const facts = factsOf(folded().rounds[0], [0]);
  const value = (name) => figures.find((figure) => figure.name === name).of(facts);
  const later = facts.answers[0].words.length - 1;
  assert.equal(value("passes") * value("tokens a pass"), later);
});

test("one pass that was held up does not count for its time a token", () => {
  const round = structuredClone(folded().rounds[0]);
  const decodes = [20, 21, 22].map((number) => ({
    ...structuredClone(round.passes[2]),
    ...{ number, events: [], start_ms: 10 * number },
  }));
  round.passes.push(...decodes);
  const before = time(factsOf(round, [0]));
  decodes[1].ms = 5000;
  assert.ok(Math.abs(time(factsOf(round, [0])) - before) < 10);
});

test("where times go against passes that is said, and small differences are none", () => {
  const [repeats, fresh] = figures.slice(-2).map(({ against }) => against);
  assert.deepEqual([repeats(OFF, ON), fresh(OFF, ON)], [null, null]);
  assert.match(repeats(OFF, ON.with(8, 162)), /times say otherwise/);
  assert.match(fresh(OFF.with(9, 690), ON.with(9, 210)), /times say otherwise/);
  assert.equal(fresh(OFF, ON.with(9, 120)), null);
  assert.equal(figures[0].against, undefined);
});

test("its figures are counted of answers that repeat the question and of those that do not, side by side", () => {
  const round = structuredClone(folded().rounds[0]);
  Object.assign(round.passes[2].members[0], { rows: 4, guessed: 3, more: [token(" u", 6), token(" t", 7)] });
  Object.assign(round.passes[2].members[1], { rows: 3, guessed: 2, more: [] });
  const facts = factsOf(round, [0]);
  assert.deepEqual(
    figures.map(({ of }) => of(facts)),
    [2 / 3, 0, 2, 1, 2, 1, 1, 2, 7.5, 10],
  );
});
