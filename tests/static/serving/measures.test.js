import assert from "node:assert/strict";
import { test } from "node:test";
import {
  doneMs,
  firstTokenMs,
  fullTokensPerSecond,
  guesses,
  longestPrompt,
  longestWait,
  mean,
  mostAtOnce,
  mostBlocks,
  mostPositions,
  placeOf,
  rowsComputed,
  rowsReadIn,
  sameText,
  tokensPerSecond,
  waitsOf,
} from "../../../kvscope/static/serving/measures.js";
import { answersOf } from "../../../kvscope/static/serving/tally.js";
import { columns, pluck } from "../support/lists.js";
import { token } from "../support/wire.js";
import { folded, framesOf, REQUESTS, SETTINGS } from "./made.js";

const round = folded().rounds[0];
const answers = answersOf(round, REQUESTS);

test("an answer has its outputs when their pass was over, and says how it ended", () => {
  const [a, b, c] = answers;
  assert.deepEqual(pluck(pluck(a.outputs, "token"), "text"), [" x", " y", " w"]);
  assert.deepEqual(columns(a.outputs, "ms", "pass"), { ms: [10, 30, 40], pass: [0, 1, 2] });
  assert.deepEqual([a.rows, b.rows, b.shared, b.arrived, b.began], [7, 3, 4, 8, 10]);
  assert.deepEqual(b.end, { what: "done", ms: 40 });
  assert.deepEqual([c.outputs.length, c.began, c.end], [0, null, { what: "cancelled", ms: 28 }]);
  assert.deepEqual([firstTokenMs(a), firstTokenMs(b), firstTokenMs(c)], [10, 22, null]);
  assert.deepEqual(waitsOf(a), [
    { ms: 20, from: 10, to: 30 },
    { ms: 10, from: 30, to: 40 },
  ]);
});

test("what a round came out at is counted from its passes", () => {
  assert.equal(doneMs(round), 40);
  assert.equal(tokensPerSecond(round), 5 / 0.04);
  assert.equal(fullTokensPerSecond(round), 2 / 0.01, "only the last pass gave two requests a token and read no prompt");
  assert.equal(rowsComputed(round), 10);
  assert.equal(mostAtOnce(round), 2);
  assert.equal(mostBlocks(round), 3, "a shared block counts once");
  assert.equal(mean([1, null, 3]), 2);
  assert.equal(mean([null]), null);
  const empty = { passes: [], settings: round.settings, end: null };
  for (const measure of [doneMs, tokensPerSecond, fullTokensPerSecond]) assert.equal(measure(empty), null);
  assert.equal(mostBlocks(empty), 0);
});

test("tokens that were guessed right come out of the same pass", () => {
  const guessing = structuredClone(round);
  const [a] = guessing.passes[2].members;
  Object.assign(a, { rows: 4, guessed: 3, more: [token(" u", 6), token(" t", 7)] });
  const { outputs } = answersOf(guessing, REQUESTS)[0];
  assert.deepEqual(pluck(pluck(outputs, "token"), "id"), [1, 2, 4, 6, 7]);
  assert.deepEqual(pluck(outputs, "ms"), [10, 30, 40, 40, 40]);
  assert.equal(tokensPerSecond(guessing), 7 / 0.04);
  assert.deepEqual(guesses(guessing), { guessed: 3, right: 2 });
  assert.deepEqual(guesses(round), { guessed: 0, right: 0 });
  assert.equal(mostPositions(round), 6, "the last tokens take no position");
});

test("the longest wait is that of the others, while a prompt is read", () => {
  assert.equal(longestPrompt(REQUESTS), 1);
  assert.deepEqual(longestWait(answers, round, 1), { ms: 20, from: 10, to: 30, requests: [0] });
  assert.equal(longestWait(answers, round, 0), null, "no other request had a token yet");
  assert.equal(longestWait(answers, round, 2), null, "it was never read");
});

test("beside a wait only the rows that were read in it count, not those that were shared", () => {
  const { tokens } = REQUESTS[1];
  assert.equal(rowsReadIn(answers[1], longestWait(answers, round, 1)), tokens - answers[1].shared);
  assert.equal(rowsReadIn(answers[0], { from: 10, to: 30 }), 0, "it was read before");
});

test("passes are counted from 1 in each round", () => {
  const { rounds } = folded(framesOf([SETTINGS, { ...SETTINGS, chunk: 1 }]));
  const places = rounds.flatMap((each) => each.passes.map((pass) => placeOf(each, pass)));
  assert.deepEqual(places, [1, 2, 3, 1, 2, 3]);
});

test("texts are the same when every token is, and the first that differs is named", () => {
  assert.deepEqual(sameText(answers, structuredClone(answers)), { same: 2, of: 2, first: null });
  const other = structuredClone(answers);
  other[1].outputs[1].token.id = 99;
  assert.deepEqual(sameText(answers, other), { same: 1, of: 2, first: { request: 1, token: 1 } });
  const shorter = structuredClone(answers);
  shorter[0].outputs.pop();
  assert.deepEqual(sameText(answers, shorter).first, { request: 0, token: 2 });
  shorter[0].end.what = "cancelled";
  assert.equal(sameText(answers, shorter).same, 2, "of a cancelled one what both have counts");
});
