import assert from "node:assert/strict";
import { test } from "node:test";
import {
  budgetsOf,
  firstBudget,
  lossOf,
  resultOf,
  sameTokens,
  shareRead,
  shelfOf,
} from "../../../../../../kvscope/static/stage/views/cache/kept/facts.js";
import { madeRun } from "../../../../support/made-run.js";

const WORDS = ["a", "b", "c", "d", "e", "f"];
const PROMPT = 3;
const [LAYERS, HEADS, KV_HEADS] = [2, 4, 2];

/** Every head gives all keys the same weight; head 3 of layer 1 gives all to the first. */
const row = (layer, head, query) =>
  Array.from({ length: query + 1 }, (_, key) => (layer === 1 && head === 3 ? (key === 0 ? 255 : 0) : 100));

function runOf(parts = {}) {
  return madeRun({
    words: WORDS,
    promptLength: PROMPT,
    layers: LAYERS,
    heads: HEADS,
    kvHeads: KV_HEADS,
    row,
    ...parts,
  });
}

/** The bits of the positions that stay, for each of `tables`. */
function bits(layers, heads, ...tables) {
  return {
    shape: [layers, heads, 1],
    data: Uint8Array.from(tables, (kept) => kept.reduce((sum, at) => sum | (1 << at), 0)),
  };
}

function twinOf(keptOf, steps = {}) {
  const twin = runOf({ steps });
  twin.steps.forEach((step, at) => {
    step.kept = keptOf(at);
  });
  return twin;
}

/** Keeps the newest two positions. */
const window = (steps) => twinOf((step) => bits(1, 1, [PROMPT + step - 2, PROMPT + step - 1]), steps);

test("a step reads what stayed after the one before, and its own token", () => {
  const twin = window();
  assert.deepEqual([...shareRead(twin, 0)], [1, 1, 1]);
  assert.deepEqual([...shareRead(twin, 1)], [0, 1, 1, 1]);
  assert.deepEqual([...shareRead(twin, 2)], [0, 0, 1, 1, 1]);
});

test("where KV heads keep different positions, a position is read in a share of them", () => {
  const twin = twinOf(() => bits(2, 2, [0, 2], [0, 2], [1, 2], [0, 1]));
  assert.deepEqual([...shareRead(twin, 1)], [0.75, 0.5, 0.75, 1]);
});

test("lost attention is that of the run on what its twin could not read, by its own KV head", () => {
  const loss = lossOf(runOf(), window());
  assert.equal(loss.byStep[0], 0);
  // Step 1: 7 heads lose one of four equal weights, the eighth all.
  assert.ok(Math.abs(loss.byStep[1] - (7 * 0.25 + 1) / 8) < 1e-6);
  assert.ok(Math.abs(loss.byStep[2] - (7 * 0.4 + 1) / 8) < 1e-6);
  assert.deepEqual(loss.most, { layer: 1, head: 3, share: 1 });
  assert.ok(Math.abs(loss.mean - loss.byHead.reduce((sum, share) => sum + share, 0) / 8) < 1e-6);

  const apart = lossOf(
    runOf(),
    twinOf(() => bits(2, 2, [0, 1, 2, 3, 4], [], [0, 1, 2, 3, 4], [0])),
  );
  assert.ok(apart.byHead[0] === 0 && apart.byHead[1] === 0, "heads 0 and 1 read KV head 0");
  assert.ok(apart.byHead[2] > 0.7 && apart.byHead[3] > 0.7);
  assert.equal(apart.byHead[4 + 3], 0, "all its attention is on a position that stayed");
  assert.ok(Math.abs(apart.byHead[4 + 2] - (2 / 4 + 3 / 5 + 4 / 6) / 3) < 1e-6);
});

test("a twin that keeps everything loses nothing", () => {
  const loss = lossOf(
    runOf(),
    twinOf(() => bits(1, 1, [0, 1, 2, 3, 4, 5])),
  );
  assert.deepEqual([loss.mean, loss.most.share], [0, 0]);
});

test("its result is what its last step holds, and the first step with another choice", () => {
  const [same, other] = [{ id: 3 }, { id: 9 }];
  const steps = Object.fromEntries(
    [0, 0.5, 2, 0.1].map((kl, step) => [step, { kl, token: same, own: step === 2 ? other : same }]),
  );
  const result = resultOf(runOf({ steps }), window(steps));
  assert.equal(result.most, 2);
  assert.ok(Math.abs(result.mean - 0.65) < 1e-9);
  assert.deepEqual(result.change, { step: 2, before: same, after: other });
  assert.equal(resultOf(runOf({ steps: { 2: steps[0] } }), window({ ...steps, 2: steps[0] })).change, null);
});

test("texts are the same up to the first other token", () => {
  const tokens = (ids) => Object.fromEntries(ids.map((id, step) => [step, { token: { id } }]));
  const run = runOf({ steps: tokens([1, 2, 3, 4]) });
  assert.equal(sameTokens(run, window(tokens([1, 2, 9, 4]))), 2);
  assert.equal(sameTokens(run, window(tokens([1, 2, 3, 4]))), 4);
});

test("the budget shown first is the one that was run last, else 16, or half of a short run", () => {
  const run = (positions) => ({ id: "r", positions });
  assert.deepEqual(budgetsOf(run(100)), { least: 8, most: 100 });
  assert.deepEqual(budgetsOf(run(5)), { least: 5, most: 5 });
  assert.equal(firstBudget(run(100), null), 16);
  assert.equal(firstBudget(run(20), []), 10);
  assert.equal(firstBudget(run(5), []), 5);
  const twin = (budget, created, of = "r", cache = "sinks") => ({ created, study: { of, cache, budget } });
  const twins = [twin(12, "2"), twin(24, "3"), twin(9, "1"), twin(40, "4", "other"), twin(undefined, "5", "r", "none")];
  assert.equal(firstBudget(run(100), [{ study: null }, ...twins]), 24);
});

test("a long hole is one piece between its first and last positions, and every position is in one piece", () => {
  const shares = Float32Array.from([1, ...new Array(20).fill(0), 0.5, 0, 0, 1]);
  const pieces = shelfOf(shares);
  assert.deepEqual(
    pieces.filter(({ first, last }) => last > first),
    [{ first: 4, last: 17, share: 0 }],
  );
  const covered = pieces.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, i) => first + i));
  assert.deepEqual(covered, [...shares.keys()]);
});
