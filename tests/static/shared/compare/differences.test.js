import assert from "node:assert/strict";
import { test } from "node:test";
import { comparisonOf } from "../../../../kvscope/static/shared/compare/alignment.js";
import {
  accountOf,
  attentionMoved,
  attentionRows,
  decodeTimes,
  firstLayerOf,
  largestOf,
  MAPS,
  mapOf,
  sameShape,
} from "../../../../kvscope/static/shared/compare/differences.js";
import { runOf } from "../../support/compared-runs.js";
import { assertEach } from "../../support/lists.js";

const FULL = 255;
/** All attention on one key. */
const allOn = (key) => (_layer, _head, query) => Array.from({ length: query + 1 }, (_, at) => (at === key ? FULL : 0));
const WORDS = ["p", "q", "x", "y"];

test("equal rows do not differ in any map", () => {
  const [a, b] = [runOf(WORDS), runOf(WORDS)];
  const { columns } = comparisonOf(a, b);
  for (const map of MAPS) {
    const { values, any } = mapOf(map, columns, { run: a, step: 1 }, { run: b, step: 1 });
    assert.ok(any);
    assert.ok(values.every((value) => value === 0));
  }
});

test("attention on another token differs completely, on a token that replaces it not at all", () => {
  const a = runOf(["p", "q", "x", "y"], { row: allOn(1) });
  const moved = runOf(["p", "q", "x", "y"], { row: allOn(0) });
  const replaced = runOf(["p", "r", "x", "y"], { row: allOn(1) });
  const of = (b) => attentionMoved(comparisonOf(a, b).columns, { run: a, step: 1 }, { run: b, step: 1 }, 0, 0);
  assert.equal(of(moved), 1);
  assert.equal(of(replaced), 0);
});

test("attention on a token that the other run lacks counts as moved", () => {
  const a = runOf(["p", "q", "x", "y"], { row: allOn(0) });
  const b = runOf(["p", "new", "q", "x", "y"], { promptLength: 3, row: allOn(2) });
  const { columns } = comparisonOf(a, b);
  assert.equal(attentionMoved(columns, { run: a, step: 0 }, { run: b, step: 0 }, 0, 0), 1);
  const rows = attentionRows(columns, { run: a, step: 0 }, { run: b, step: 0 }, 0, 0);
  assertEach(rows, ({ a: one, b: other }) => [one, other], [
    [1, 0],
    [0, 0],
    [null, 1],
  ]);
});

test("exchanging the runs keeps the moved share and changes the sign of lengths", () => {
  const a = runOf(WORDS, { row: allOn(1) });
  const b = runOf(["p", "q", "z", "x", "y"], { row: allOn(0) });
  const [one, other] = [
    { run: a, step: 1 },
    { run: b, step: 2 },
  ];
  const [there, back] = [comparisonOf(a, b).columns, comparisonOf(b, a).columns];
  for (const map of MAPS) {
    const sign = map === "attention" ? 1 : -1;
    const mirrored = mapOf(map, back, other, one).values.map((value) => sign * value);
    mapOf(map, there, one, other).values.forEach((value, i) => assert.ok(Math.abs(value - mirrored[i]) < 1e-12));
  }
});

test("rows that a run read from the cache have no values", () => {
  const [a, b] = [runOf(WORDS), runOf(WORDS, { promptLength: 2 })];
  b.row = () => null;
  assert.equal(mapOf("attention", comparisonOf(a, b).columns, { run: a, step: 0 }, { run: b, step: 0 }).any, false);
});

test("the largest difference is found whatever its sign", () => {
  assert.equal(firstLayerOf({ width: 2, values: [0, null, 0.004, 0.001, 0, -0.5, 0.2, 0] }), 2);
  assert.equal(firstLayerOf({ width: 2, values: [0, null] }), null);
  assert.deepEqual(largestOf({ width: 2, values: [0.1, null, -0.5, 0.2] }), { layer: 1, at: 0, value: -0.5 });
});

test("heads of models with different numbers of heads are not compared", () => {
  const small = runOf(WORDS, { heads: 2 });
  assert.equal(sameShape({ run: runOf(WORDS) }, { run: small }), false);
  assert.equal(sameShape({ run: runOf(WORDS) }, { run: runOf(WORDS) }), true);
});

test("disturbed steps are named and are not in the median", () => {
  const run = runOf(["p", "q", "x", "y", "z", "w"], {
    steps: { 1: { conditions: { disturbed: true, others: 2, waiting: null } } },
  });
  assert.match(accountOf({ run, step: 1 }).disturbed, /2 other runs/);
  assert.equal(accountOf({ run, step: 2 }).disturbed, null);
  assert.deepEqual(decodeTimes(run), { steps: 3, median: 13, disturbed: 1 });
});
