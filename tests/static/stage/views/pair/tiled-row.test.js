import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesByFormula, tiledRow } from "../../../../../kvscope/static/stage/views/pair/tiled-row.js";
import { columns } from "../../../support/lists.js";

const tensor = (shape, values) => ({ shape, data: Float32Array.from(values) });

/** One row whose four keys have these scores; its weights and output are those of the softmax in double precision. */
function headOf(scores, v, firstKey = 0) {
  const powers = scores.map((score, key) => (key < firstKey ? 0 : Math.exp(score)));
  const sum = powers.reduce((total, power) => total + power, 0);
  const weights = powers.map((power) => power / sum);
  const output = weights.reduce((total, weight, key) => total + weight * v[key], 0);
  const row = (values) => tensor([1, values.length], values);
  return { scores: row(scores), weights: row(weights), v: tensor([v.length, 1], v), output: row([output]) };
}
const SCORES = [0, Math.log(2), Math.log(8), 0];
const VALUES = [12, 0, 3, 24];

test("a larger score rescales both sums, and each tile starts from the state after the one before", () => {
  const { steps, output } = tiledRow(headOf(SCORES, VALUES), { row: 0, query: 3 }, 2);
  assert.deepEqual(columns(steps, "from", "to"), { from: [0, 2], to: [1, 3] });
  const near = (value, expected) => assert.ok(Math.abs(value - expected) < 1e-6, `${value} is not ${expected}`);
  near(steps[0].scale, 0);
  near(steps[0].after.sum, 1.5);
  near(steps[0].after.mix[0], 6);
  near(steps[1].scale, 1 / 4);
  near(steps[1].after.sum, 1.5 / 4 + 1 + 1 / 8);
  near(steps[1].after.mix[0], 6 / 4 + 3 + 3);
  assert.equal(steps[1].before, steps[0].after);
  near(output[0], 5);
});

test("masked keys are in no tile: those after the query, and those before a sliding window", () => {
  const row = tiledRow(headOf([9, 0, 1, 2, 3], [9, 8, 7, 6, 5], 1), { row: 0, query: 4 }, 3);
  assert.deepEqual(columns(row.steps, "from", "to"), { from: [1, 4], to: [3, 4] });
  assert.deepEqual([row.first, row.weights[0]], [1, 0]);
  assert.ok(row.weightDifference < 2e-7 && row.outputDifference < 4e-6);
  assert.deepEqual(columns(tiledRow(headOf([0, 9], [1, 1], 0), { row: 0, query: 0 }, 3).steps, "to"), { to: [0] });
});

test("the differences from the engine's values are the largest ones", () => {
  const head = headOf(SCORES, VALUES);
  head.weights.data[2] += 0.25;
  head.output.data[0] += 0.5;
  const { weightDifference, outputDifference } = tiledRow(head, { row: 0, query: 3 }, 2);
  assert.ok(Math.abs(weightDifference - 0.25) < 1e-5 && Math.abs(outputDifference - 0.5) < 1e-5);
});

test("bytes of a row, a tile, the state and a layer, by formula", () => {
  const bytes = bytesByFormula({ heads: 9, context: 8192, head_dim: 64 }, { keys: 14, size: 4 });
  assert.deepEqual(bytes, { row: 56, tile: 16, state: 264, layer: 2_415_919_104 });
  assert.equal(bytesByFormula({ heads: 9, context: 8192, head_dim: 64 }, { keys: 3, size: 4 }).tile, 12);
});
