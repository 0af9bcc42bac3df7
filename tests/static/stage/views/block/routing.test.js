import assert from "node:assert/strict";
import { test } from "node:test";
import { mlpProducts } from "../../../../../kvscope/static/shared/log/model.js";
import {
  cellSentence,
  chosenCounts,
  routingLines,
  throughLayers,
  throughTokens,
  usedSentence,
} from "../../../../../kvscope/static/stage/views/block/routing-facts.js";
import { readableOnly } from "../../../../../kvscope/static/stage/views/cache/algebra.js";
import { passFlops } from "../../../../../kvscope/static/stage/views/cache/flops.js";
import { pluck } from "../../../support/lists.js";
import { madeRun } from "../../../support/made-run.js";

/** Layer 0 sends position p to experts p mod 3 and 3; layer 1 has no experts. */
const run = madeRun({ words: ["a", "b", "c", "d"], promptLength: 3 });
run.open.model.experts = { count: 4, chosen: 2, width: 8 };
run.experts = (layer, position) =>
  layer
    ? []
    : [
        { expert: position % 3, share: 0.75 },
        { expert: 3, share: 0.25 },
      ];

test("a line has the shares of the chosen experts, and nothing for the others or in a layer without experts", () => {
  const [second, first] = routingLines(run, throughLayers(run, 1));
  assert.deepEqual([...first], [0, 191, 0, 64]);
  assert.deepEqual([...second], [0, 0, 0, 0]);
});

test("every token that the run computed up to the newest has a line", () => {
  assert.deepEqual(pluck(throughTokens({ ...run, reused: 1 }, 0, 3), "position"), [1, 2, 3]);
  assert.deepEqual(chosenCounts(run, throughTokens(run, 0, 3)), [2, 1, 1, 4]);
  assert.match(
    usedSentence(run, 0, throughTokens(run, 0, 3)),
    /of 4 tokens, 4 went through expert 3.* 1 through expert 1/,
  );
});

test("a cell in words has its share, or that its expert was not chosen", () => {
  assert.match(cellSentence(run, { layer: 0, position: 2 }, 3), /“c” at position 2: expert 3, share 0\.250/);
  assert.match(cellSentence(run, { layer: 0, position: 2 }, 0), /expert 0 was not chosen/);
});

test("a layer with experts multiplies by its router and by those that a row goes through", () => {
  const model = { ...run.open.model, d: 10, d_mlp: 50, context: 8, gated: true };
  assert.equal(mlpProducts(model, true), 2 * 3 * 10 * 8 + 10 * 4);
  assert.equal(mlpProducts(model, false), 3 * 10 * 50);
  const more = passFlops(model, 2, 5, 1) - passFlops(model, 2, 5, 0);
  assert.equal(more, 2 * 2 * (mlpProducts(model, true) - mlpProducts(model, false)));
});

test("K and V that a local layer no longer holds are not compared", () => {
  const matrix = (first) => ({ shape: [3, 2], data: Float32Array.from([first, first, 1, 2, 3, 4]) });
  const all = { k: matrix(0), v: matrix(0), k_again: matrix(9), v_again: matrix(9), q: matrix(5) };
  const readable = readableOnly(all, 1);
  assert.deepEqual(readable.k, { shape: [2, 2], data: Float32Array.from([1, 2, 3, 4]) });
  assert.deepEqual(readable.k_again, readable.k);
  assert.equal(readable.q, all.q);
  assert.equal(readableOnly(all, 0), all);
});
