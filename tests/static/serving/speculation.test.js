import assert from "node:assert/strict";
import { test } from "node:test";
import { REPEATED } from "../../../static/serving/prompts.js";
import { SPECULATION } from "../../../static/serving/speculation.js";
import { answersOf } from "../../../static/serving/tally.js";
import { token } from "../support/wire.js";
import { folded, REQUESTS } from "./made.js";

const { figures } = SPECULATION;
const conclusion = (before, after) => SPECULATION.conclusion({ values: before }, { values: after });
/** A value per figure: right guesses, passes, tokens a pass, rows for nothing, ms; each of both kinds of answers. */
const OFF = [null, null, 41, 31, 1, 1, 0, 0, 161, 126];
const ON = [0.78, 0, 16, 31, 3.1, 1, 7, 52, 156, 130];

/** A round's facts, where these requests ask for a repetition. */
function factsOf(round, repeated) {
  const requests = structuredClone(REQUESTS).map((each, at) =>
    repeated.includes(at) ? { ...each, prompt: REPEATED[0] } : each,
  );
  return { round, requests, answers: answersOf(round, requests), blockSize: 4 };
}

/** Of answers that repeat the question. */
const time = (facts) => figures.at(-2).of(facts);

test("guessing helps where guesses were right and save passes, and not elsewhere", () => {
  assert.equal(
    conclusion(OFF, ON),
    "Guessing helps when the answer repeats the prompt. Right guesses: 78\u202f%. It took 16 passes with guesses and 41 without. " +
      "Guessing does not help when the answer is new. Right guesses: 0\u202f%. It took 31 passes with guesses and 31 without. " +
      "Wrong guesses cost 52 rows. Only a right guess saves a pass; the row of a wrong guess is wasted.",
  );
  const nothing = ON.with(1, null).with(7, 0);
  assert.match(
    conclusion(OFF, nothing),
    /is new\. There was nothing to guess\. It took 31 passes with guesses and 31 without\. Only/,
  );
});

test("the conclusion does not depend on times", () => {
  assert.equal(conclusion(OFF, ON), conclusion(OFF, ON.with(8, 5000).with(9, 5)));
});

test("tokens, passes and tokens per pass count the same tokens", () => {
  const facts = factsOf(folded().rounds[0], [0]);
  const value = (name) => figures.find((figure) => figure.name === name).of(facts);
  const later = facts.answers[0].outputs.length - 1;
  assert.equal(value("passes") * value("tokens per pass"), later);
});

test("one slow pass does not change the time per token", () => {
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

test("a text marks times that contradict the passes, and small differences are ignored", () => {
  const [repeats, fresh] = figures.slice(-2).map(({ against }) => against);
  assert.deepEqual([repeats(OFF, ON), fresh(OFF, ON)], [null, null]);
  assert.match(repeats(OFF, ON.with(8, 162)), /times contradict/);
  assert.match(fresh(OFF.with(9, 690), ON.with(9, 210)), /times contradict/);
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
