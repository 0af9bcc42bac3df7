import assert from "node:assert/strict";
import { test } from "node:test";
import { experimentOf, resultOf, roundName } from "../../../kvscope/static/serving/results.js";
import { folded, framesOf, REQUESTS, SETTINGS } from "./made.js";

test("rounds are called by what differs", () => {
  const name = (at, ...changes) =>
    roundName({ rounds: changes.map((change) => ({ ...SETTINGS, ...change })), requests: REQUESTS }, at);
  for (const at of [0, 1]) assert.equal(name(at, { at_once: 1 }, { at_once: 8 }), ["1 at once", "8 at once"][at]);
  assert.equal(name(1, {}, { chunk: 7 }), "chunk 7");
  assert.equal(name(1, {}, { chunk: 7, at_once: 1 }), "at once 1, chunk 7");
  assert.equal(name(0, {}), "round 1");
});

test("rounds with drafts are called by what guesses", () => {
  const draft = (layers) => ({ ...SETTINGS, draft: { tokens: 4, layers } });
  const study = { rounds: [{ ...SETTINGS, draft: null }, draft(0)], requests: REQUESTS };
  assert.equal(experimentOf(study).id, "draft");
  assert.deepEqual([roundName(study, 0), roundName(study, 1)], ["no draft", "prompt lookup"]);
  const layers = { rounds: [draft(5), draft(10)], requests: REQUESTS };
  assert.equal(experimentOf(layers).id, "draft-layers");
  assert.equal(roundName(layers, 1), "first 10 layers");
});

test("a result is counted from the rounds that are over, texts from all of them", () => {
  const frames = framesOf(["static", "continuous"].map((batching) => ({ ...SETTINGS, batching })));
  assert.deepEqual(resultOf(folded(frames.slice(0, 4))).rounds, []);
  const half = resultOf(folded(frames.slice(0, 5)));
  assert.deepEqual([half.rounds.length, half.of, half.text], [1, 2, null]);
  const whole = resultOf(folded(frames));
  assert.deepEqual(
    whole.rounds.map(({ name, values, others }) => [name, values, others]),
    [
      ["static", [125, 40, 16], 1],
      ["continuous", [62.5, 80, 32], 1],
    ],
  );
  assert.deepEqual(whole.text, { same: 2, of: 2, first: null });
  assert.equal(resultOf(folded()), null);
});
