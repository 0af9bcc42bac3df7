import assert from "node:assert/strict";
import { test } from "node:test";
import { REPEATED } from "../../../static/serving/prompts.js";
import { SPECULATION } from "../../../static/serving/speculation.js";
import { answersOf } from "../../../static/serving/tally.js";
import { token } from "../support/wire.js";
import { folded, REQUESTS } from "./made.js";

const { figures, says } = SPECULATION;
/** A value per figure: right guesses, passes, tokens a pass, rows for nothing, ms; each of both kinds of answers. */
const OFF = [null, null, 41, 31, 1, 1, 0, 0, 161, 126];
const ON = [0.78, 0, 16, 31, 3.1, 1, 7, 52, 156, 130];

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

test("its figures are counted of answers that repeat the question and of those that do not, side by side", () => {
  const requests = structuredClone(REQUESTS).map((each, at) => (at === 0 ? { ...each, prompt: REPEATED[0] } : each));
  const round = structuredClone(folded().rounds[0]);
  Object.assign(round.passes[2].members[0], { rows: 4, guessed: 3, more: [token(" u", 6), token(" t", 7)] });
  Object.assign(round.passes[2].members[1], { rows: 3, guessed: 2, more: [] });
  const facts = { round, requests, answers: answersOf(round, requests), blockSize: 4 };
  assert.deepEqual(
    figures.map(({ of }) => of(facts)),
    [2 / 3, 0, 3, 2, 2, 1, 1, 2, 7.5, 10],
  );
});
