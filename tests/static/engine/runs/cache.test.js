import assert from "node:assert/strict";
import { test } from "node:test";
import { BLOCK_SIZE, CacheFull, createCache, slotsOf } from "../../../../kvscope/static/engine/runs/cache.js";

function cacheOf(blocks) {
  const copies = [];
  return { cache: createCache({ blocks, copyRows: (...copied) => copies.push(copied) }), copies };
}

test("full blocks are shared, and the rows of the last one are copied", () => {
  const { cache, copies } = cacheOf(4);
  const table = [];
  cache.reach(table, 2 * BLOCK_SIZE);
  const shared = cache.share(table, BLOCK_SIZE + 5);
  assert.deepEqual(shared, [0, 2]);
  assert.deepEqual(copies, [[BLOCK_SIZE, 2 * BLOCK_SIZE, 5]]);
  assert.deepEqual(cache.refcounts(table), [2, 1]);
  cache.release(table);
  assert.deepEqual(cache.refcounts(shared), [1, 1]);
  assert.equal(cache.free(), 2);
});

test("without free blocks nothing is shared, and no count changes", () => {
  const { cache } = cacheOf(1);
  const table = [];
  cache.reach(table, 3);
  assert.throws(() => cache.share(table, 3), CacheFull);
  assert.deepEqual(cache.refcounts(table), [1]);
  assert.throws(() => cache.reach(table, BLOCK_SIZE + 1), CacheFull);
});

test("positions have the slots of their blocks", () => {
  assert.deepEqual(slotsOf([3, 1], BLOCK_SIZE + 2).slice(-3), [4 * BLOCK_SIZE - 1, BLOCK_SIZE, BLOCK_SIZE + 1]);
});
