import assert from "node:assert/strict";
import { test } from "node:test";
import { guessFigures, guessValue, saves } from "../../../kvscope/static/serving/guess-figures.js";
import { REPEATED } from "../../../kvscope/static/serving/prompts.js";
import { answersOf } from "../../../kvscope/static/serving/tally.js";
import { token } from "../support/wire.js";
import { folded, REQUESTS } from "./made.js";

const ROWS = ["right", "passes", "wrong", "weights", "time", "guessing"];
const figures = guessFigures(ROWS);

/** A round's facts, where these requests ask for a repetition. */
function factsOf(round, repeated) {
  const requests = structuredClone(REQUESTS).map((each, at) =>
    repeated.includes(at) ? { ...each, prompt: REPEATED[0] } : each,
  );
  return { round, requests, answers: answersOf(round, requests), blockSize: 4 };
}

const valuesOf = (facts) => figures.map(({ of }) => of(facts));

/** The last pass checks three guesses of A, of which two are right, and two wrong ones of B. */
function guessing(draft) {
  const round = structuredClone(folded().rounds[0]);
  const [last] = round.passes.slice(-1);
  Object.assign(last.members[0], { rows: 4, guessed: 3, more: [token(" u", 6), token(" t", 7)] });
  Object.assign(last.members[1], { rows: 3, guessed: 2, more: [] });
  last.draft = draft;
  return round;
}

test("figures are counted of answers that repeat the prompt and of those that do not", () => {
  const values = valuesOf(factsOf(guessing({ ms: 4, passes: 3, weight_bytes: 1500 }), [0]));
  // A has three tokens in pass 1 and one before; B has one.
  assert.deepEqual(values.slice(0, 6), [2 / 3, 0, 2, 1, 1, 2]);
  assert.deepEqual(values.slice(6, 8), [(1 + 2.5) / 4, 2.5], "what the guesses read counts too");
  assert.deepEqual(values.slice(8, 10), [7.5, 10]);
  assert.deepEqual(values.slice(10), [1, 4]);
});

test("prompt lookup reads no weights", () => {
  const weights = (round) => guessValue(valuesOf(factsOf(round, [0])), ROWS, "weights", 0);
  assert.equal(weights(guessing({ ms: 1, passes: 0, weight_bytes: 0 })), 2 / 4);
  assert.equal(weights(guessing(null)), 2 / 4, "nothing was to be guessed");
});

test("one slow pass does not change the time per token", () => {
  const round = structuredClone(folded().rounds[0]);
  const decodes = [20, 21, 22].map((number) => ({
    ...structuredClone(round.passes[2]),
    ...{ number, events: [], start_ms: 10 * number },
  }));
  round.passes.push(...decodes);
  const time = () => guessValue(valuesOf(factsOf(round, [0])), ROWS, "time", 0);
  const before = time();
  decodes[1].ms = 5000;
  assert.ok(Math.abs(time() - before) < 10);
});

test("times that contradict the weights are marked, and small differences are not", () => {
  const values = (weights, time) => ROWS.flatMap((row) => Array(2).fill({ weights, time }[row] ?? 0));
  const against = (is, time, before = 100) =>
    figures.find(({ against }) => against).against(values(1, before), values(is, time));
  assert.equal(against(0.5, 60), null);
  assert.match(against(0.5, 101), /times contradict/);
  assert.equal(against(1.2, 95), null);
  assert.match(against(1.2, 80), /times contradict/);
  assert.ok(saves(0.9) && !saves(0.91) && !saves(null));
});
