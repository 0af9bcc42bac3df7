import assert from "node:assert/strict";
import { test } from "node:test";
import { costOf, expertsUsed } from "../../../../kvscope/static/engine/runs/cost.js";

const MODEL = { layers: 2, heads: 2, kv_heads: 1, head_dim: 4, d: 8, vocab: 10, windows: null, element_bytes: 4 };
const COST = { products: 100, weights: { Q8_0: 1000, F32: 20 }, expert: { Q8_0: 30 }, embedding_row: 8 };

test("an expert that several rows of a layer chose is read once, and rows without experts read none", () => {
  const chosen = new Int32Array([3, 1, 1, 3, -1, -1, -1, -1]); // two layers, two rows, two experts each
  const experts = { chosen, shares: new Float32Array(8), each: 2 };
  const used = expertsUsed({ shape: { layers: [{}, {}] }, noExpert: -1 }, experts);
  assert.equal(used, 2);
  const { weights, bytes_read: read } = costOf(MODEL, COST, 2, 2, used);
  assert.deepEqual(weights, { Q8_0: 1060, F32: 20 });
  assert.equal(read - costOf(MODEL, COST, 2, 2, 0).bytes_read, 60);
  assert.equal(expertsUsed({ shape: { layers: [{}, {}] }, noExpert: -1 }, null), 0);
});

test("a format that only experts have is counted too", () => {
  assert.deepEqual(costOf(MODEL, { ...COST, expert: { Q4_0: 5 } }, 1, 1, 3).weights, { Q8_0: 1000, F32: 20, Q4_0: 15 });
});
