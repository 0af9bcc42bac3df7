import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesByFormula, tiledRow } from "../../../../../kvscope/static/stage/views/pair/tiled-row.js";
import { columns } from "../../../support/lists.js";

const tensor = (shape, values) => ({ shape, data: Float32Array.from(values) });

/** Some rows of any numbers with their softmax and mix in double precision; `window`: keys a row may look back on. */
function headOf(rows, width, window = rows) {
  let seed = 7;
  const next = () => {
    seed = (seed * 16807) % 2147483647;
    return (seed / 2147483647 - 0.5) * 8;
  };
  const randoms = (count) => Float32Array.from({ length: count }, next);
  const [scores, v] = [randoms(rows * rows), randoms(rows * width)];
  const weights = new Float32Array(rows * rows);
  const output = new Float32Array(rows * width);
  for (let row = 0; row < rows; row++) {
    const keys = Array.from({ length: row + 1 }, (_, key) => key).filter((key) => key > row - window);
    const sum = keys.reduce((total, key) => total + Math.exp(scores[row * rows + key]), 0);
    for (const key of keys) {
      const weight = Math.exp(scores[row * rows + key]) / sum;
      weights[row * rows + key] = weight;
      for (let i = 0; i < width; i++) output[row * width + i] += weight * v[key * width + i];
    }
  }
  return {
    scores: tensor([rows, rows], scores),
    weights: tensor([rows, rows], weights),
    v: tensor([rows, width], v),
    output: tensor([rows, width], output),
  };
}

test("tiles of any size give the weights and the output of the whole row", () => {
  const head = headOf(23, 8);
  for (const size of [1, 2, 4, 8, 16, 64]) {
    for (const query of [0, 1, 7, 22]) {
      const tiled = tiledRow(head, { row: query, query }, size);
      assert.equal(tiled.steps.length, Math.ceil((query + 1) / size));
      assert.deepEqual([tiled.steps[0].from, tiled.steps.at(-1).to], [0, query]);
      assert.equal(tiled.weights.length, query + 1);
      assert.ok(tiled.weightDifference < 2e-7, `weights of ${query} by ${size}: ${tiled.weightDifference}`);
      assert.ok(tiled.outputDifference < 4e-6, `output of ${query} by ${size}: ${tiled.outputDifference}`);
    }
  }
});

test("a larger score rescales both sums, and each tile starts from the state after the one before", () => {
  const head = {
    scores: tensor([1, 4], [0, Math.log(2), Math.log(8), 0]),
    weights: tensor([1, 4], [1 / 12, 2 / 12, 8 / 12, 1 / 12]),
    v: tensor([4, 1], [12, 0, 3, 24]),
    output: tensor([1, 1], [5]),
  };
  const { steps, output } = tiledRow(head, { row: 0, query: 3 }, 2);
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
  const head = headOf(12, 4, 5);
  const { first, steps, weights, weightDifference, outputDifference } = tiledRow(head, { row: 9, query: 9 }, 4);
  assert.equal(first, 5);
  assert.deepEqual(columns(steps, "from", "to"), { from: [5, 9], to: [8, 9] });
  assert.deepEqual(Array.from(weights.subarray(0, 5)), [0, 0, 0, 0, 0]);
  assert.ok(weightDifference < 2e-7 && outputDifference < 4e-6);
});

test("the differences from the engine's values are the largest ones", () => {
  const head = headOf(6, 4);
  head.weights.data[5 * 6 + 2] += 0.25;
  head.output.data[5 * 4] += 0.5;
  const { weightDifference, outputDifference } = tiledRow(head, { row: 5, query: 5 }, 2);
  assert.ok(Math.abs(weightDifference - 0.25) < 1e-5 && Math.abs(outputDifference - 0.5) < 1e-5);
});

test("bytes of a row, a tile, the state and a layer, by formula", () => {
  const bytes = bytesByFormula({ heads: 9, context: 8192, head_dim: 64 }, { keys: 14, size: 4 });
  assert.deepEqual(bytes, { row: 56, tile: 16, state: 264, layer: 2_415_919_104 });
  assert.equal(bytesByFormula({ heads: 9, context: 8192, head_dim: 64 }, { keys: 3, size: 4 }).tile, 12);
});
