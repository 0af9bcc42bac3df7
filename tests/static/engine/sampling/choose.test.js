import assert from "node:assert/strict";
import { test } from "node:test";
import { shownOf } from "../../../../kvscope/static/engine/sampling/candidates.js";
import { choose, NotFinite, probabilityOf } from "../../../../kvscope/static/engine/sampling/choose.js";
import { descending } from "../../../../kvscope/static/engine/sampling/descending.js";
import { uniform } from "../../../../kvscope/static/engine/sampling/uniform.js";

const LOGITS = new Float32Array([0.5, 3, -1, 2, 2.5, -4]);
const SAMPLED = { strategy: "sample", temperature: 1, top_k: 0, top_p: 1, seed: 0 };

const summaryOf = (logits) => {
  const largest = Math.max(...logits);
  const weights = [...logits].map((logit) => Math.exp(logit - largest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const weighted = weights.reduce((sum, weight, i) => sum + weight * (logits[i] - largest), 0);
  return { finite: true, best: logits.indexOf(largest), largest, total, weighted };
};

test("random numbers are those of SplitMix64", () => {
  // Published for the seed 1234567 in Rosetta Code.
  const published = [6457827717110365317n, 3203168211198807973n, 9817491932198370423n];
  assert.deepEqual(
    published.map((_, step) => uniform(1234567, step)),
    published.map((bits) => Number(bits >> 11n) / 2 ** 53),
  );
  assert.notEqual(uniform(2 ** 31 - 1, 255), uniform(2 ** 31 - 2, 255));
});

test("logits are sorted largest first, equal ones in order, zeros of both signs being equal", () => {
  const logits = new Float32Array([0, -2.5, -0, 3e38, -3e38, 1e-45, 0, 3e38, -1e-45]);
  assert.deepEqual([...descending(logits)], [3, 7, 5, 0, 2, 6, 8, 1, 4]);
  const part = new Float32Array([9, 1, 2]).subarray(1);
  assert.deepEqual([...descending(part)], [1, 0]);
});

test("greedy takes the best token with its raw probability, without filters", () => {
  const summary = summaryOf(LOGITS);
  const choice = choose(summary, LOGITS, { ...SAMPLED, strategy: "greedy", top_k: 2, top_p: 0.1 }, 7);
  assert.equal(choice.token, 1);
  assert.equal(choice.prob, probabilityOf(summary, 3));
  assert.equal(choice.raw_prob, choice.prob);
  assert.deepEqual([choice.kept_top_k, choice.kept_top_p, choice.mass_top_k, choice.mass_top_p], [6, 6, 1, 1]);
});

test("top-k and top-p keep the best, and only they are drawn", () => {
  const drawn = new Set();
  for (let step = 0; step < 300; step++) {
    const choice = choose(summaryOf(LOGITS), LOGITS, { ...SAMPLED, top_k: 3, top_p: 0.7 }, step);
    assert.deepEqual([choice.kept_top_k, choice.kept_top_p], [3, 2]);
    drawn.add(choice.token);
  }
  assert.deepEqual(drawn, new Set([1, 4]));
});

test("logits that are not finite are an error", () => {
  const summary = { ...summaryOf(LOGITS), finite: false };
  for (const strategy of ["greedy", "sample"])
    assert.throws(() => choose(summary, LOGITS, { ...SAMPLED, strategy }, 0), NotFinite);
});

test("a histogram reaches from the smallest logit to the last of the best, or has no range", () => {
  const summary = {
    ids: new Int32Array([2, 0]),
    top: new Float32Array([5, 4]),
    counts: new Int32Array(3),
    smallest: -7,
  };
  const { ids, logits, low, high } = shownOf(summary, 9);
  assert.deepEqual([[...ids], [...logits], low, high], [[2, 0], [5, 4], -7, 4]);
  assert.equal(shownOf(summary, 2).high, 0);
});
