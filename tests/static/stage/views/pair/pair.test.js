import assert from "node:assert/strict";
import { test } from "node:test";
import { bareLabel, bounded, withExponent } from "../../../../../kvscope/static/shared/facts/format.js";
import { backFrom } from "../../../../../kvscope/static/shared/state/views.js";
import {
  attentionRow,
  listedKeys,
  mixAt,
  total,
} from "../../../../../kvscope/static/stage/views/pair/attention-row.js";
import { bySize, dotProduct, runningTotals } from "../../../../../kvscope/static/stage/views/pair/dot-product.js";
import {
  pairSentence,
  vectorSentence,
  weightSentence,
} from "../../../../../kvscope/static/stage/views/pair/sentences.js";
import { madeRun } from "../../../support/made-run.js";
import { token } from "../../../support/wire.js";

const tensor = (shape, values) => ({ shape, data: Float32Array.from(values) });

/** Two rows of a prefill of three tokens: scores ln 1, ln 3 for the row in the middle, the third key masked. */
const head = {
  q: tensor([3, 2], [9, 9, 1, 2, 9, 9]),
  k: tensor([3, 2], [1, 0, 3, -4, 7, 7]),
  v: tensor([3, 2], [8, 0, 4, 1, 100, 100]),
  scores: tensor([3, 3], [0, 5, 5, 0, Math.log(3), 99, 0, 0, 0]),
  weights: tensor([3, 3], [1, 0, 0, 0.25, 0.75, 0, 0.3, 0.3, 0.4]),
  output: tensor([3, 2], [8, 0, 5, 0.75, 0, 0]),
};
const middle = { row: 1, query: 1, first: 0 };

test("a row's softmax covers only the keys that the query may read", () => {
  const row = attentionRow(head, middle);
  assert.deepEqual([row.keys, row.masked], [2, 1]);
  assert.ok(Math.abs(row.max - Math.log(3)) < 1e-6);
  assert.ok(Math.abs(row.powers[0] - 1 / 3) < 1e-6);
  assert.ok(Math.abs(row.powerSum - 4 / 3) < 1e-6);
  assert.equal(row.weightSum, 1);
  assert.ok(row.difference < 1e-6);
});

test("keys before a sliding window are in no softmax, and in no list", () => {
  const local = {
    ...head,
    scores: tensor([3, 3], [0, 0, 0, 0, 0, 0, 50, Math.log(3), 0]),
    weights: tensor([3, 3], [1, 0, 0, 1, 0, 0, 0, 0.75, 0.25]),
  };
  const row = attentionRow(local, { row: 2, query: 2, first: 1 });
  assert.deepEqual([row.first, row.keys, row.masked, row.powers[0]], [1, 2, 0, 0]);
  assert.ok(Math.abs(row.max - Math.log(3)) < 1e-6);
  assert.ok(row.difference < 1e-6);
  assert.equal(dotProduct(local, { row: 2, key: 2, query: 2, first: 1 }).keys, 2);
  assert.deepEqual(listedKeys(row.weights, 1, 2, 5), { listed: [1, 2], rest: [] });
});

test("a softmax other than the engine's has its largest difference", () => {
  const wrong = { ...head, weights: tensor([3, 3], [1, 0, 0, 0.5, 0.5, 0, 0, 0, 0]) };
  assert.ok(Math.abs(attentionRow(wrong, middle).difference - 0.25) < 1e-6);
});

test("one dimension of the output is the sum of weight × v, beside the engine's own output", () => {
  const mix = mixAt(head, middle, 0);
  assert.deepEqual(Array.from(mix.values), [8, 4]);
  assert.deepEqual(Array.from(mix.parts), [2, 3]);
  assert.deepEqual([mix.sum, mix.output, mix.difference], [5, 5, 0]);
  const off = { ...head, output: tensor([3, 2], [0, 0, 5.5, 0, 0, 0]) };
  assert.equal(mixAt(off, middle, 0).difference, 0.5);
});

test("a long row lists its largest weights and the chosen key, and all others as the rest", () => {
  const weights = Float32Array.from([0.1, 0.4, 0.05, 0.3, 0.15]);
  assert.deepEqual(listedKeys(weights, 0, 2, 5), { listed: [0, 1, 2, 3, 4], rest: [] });
  assert.deepEqual(listedKeys(weights, 0, 1, 2), { listed: [1, 3], rest: [4, 0, 2] });
  const { listed, rest } = listedKeys(weights, 0, 2, 2);
  assert.deepEqual(listed, [1, 2]);
  assert.deepEqual([...listed, ...rest].sort(), [0, 1, 2, 3, 4]);
});

test("a dot product's terms and its running sum, in any order", () => {
  const pair = dotProduct(head, { row: 1, key: 1, query: 1, first: 0 });
  assert.deepEqual(Array.from(pair.products), [3, -8]);
  assert.deepEqual([pair.dot, pair.weight, pair.keys], [-5, 0.75, 2]);
  assert.equal(pair.score, Math.fround(Math.log(3)), "the model's own, whatever the terms add up to");
  assert.deepEqual([...pair.v, ...pair.output], [4, 1, 5, 0.75]);
  assert.deepEqual(bySize(pair.products), [1, 0]);
  assert.deepEqual(Array.from(runningTotals(pair.products, [0, 1])), [3, -5]);
  assert.deepEqual(Array.from(runningTotals(pair.products, [1, 0])), [-8, -5]);
  assert.equal(total([]), 0);
});

test("a pair's sentence has the weight, the key and the distance", () => {
  const run = madeRun({ words: ["The", " animal", " it", " was"], promptLength: 4 });
  const place = { layer: 1, head: 3, query: 3, key: 1 };
  assert.equal(
    pairSentence(run, place, 0.75),
    "Head 3 of layer 1: “was” gives 75\u202f% of its attention to “animal”, 2 tokens back",
  );
  assert.match(pairSentence(run, { ...place, key: 3 }, 0.042), /4.2\u202f% of its attention to itself$/);
  assert.match(pairSentence(run, { ...place, query: 0, key: 0 }, 1), /100\u202f% of its attention to itself$/);
  assert.match(weightSentence(run, { layer: 0, query: 1 }), /1 other key\.$/);
  assert.match(weightSentence(run, { layer: 0, query: 0 }), /first token/);
});

test("numbers too small for their digits are written as a bound, never as zero", () => {
  assert.deepEqual(
    [0, 0.0004, 0.0006, -0.0004, 1.5].map((value) => bounded(value, 3)),
    ["0.000", "<0.001", "0.001", ">\u22120.001", "1.500"],
  );
  assert.deepEqual([0, 3.1e-9, 2e12].map(withExponent), ["0", "3 × 10⁻⁹", "2 × 10¹²"]);
  assert.deepEqual([bareLabel(token(" it", 1)), bareLabel(token(" ", 1))], ["it", "·"]);
});

test("Escape unlocks what is locked in a head, else it leaves the view", () => {
  const free = { query: null, key: null };
  assert.deepEqual(backFrom({ view: "head", query: 2, key: null }), free);
  assert.deepEqual(backFrom({ view: "head", ...free }), { view: "block" });
  assert.deepEqual(backFrom({ view: "pair", query: 2, key: 1 }), { view: "head" });
  assert.deepEqual(backFrom({ view: "cache", ...free }), { view: "head" });
  assert.deepEqual(backFrom({ view: "model", ...free }), { view: "model" });
});

test("q, k and v are explained with the two tokens of the pair", () => {
  const run = madeRun({ words: ["The", " animal", " it"], promptLength: 3 });
  const text = vectorSentence(run, { query: 2, key: 1 });
  assert.ok(
    ["q describes what “it”", "the key k what “animal”", "v is what “animal”"].every((part) => text.includes(part)),
  );
});
