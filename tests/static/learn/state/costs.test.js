import assert from "node:assert/strict";
import { test } from "node:test";
import { costsOf, poolOf, rateOf, runOf, total } from "../../../../kvscope/static/learn/state/costs.js";

const STATE = {
  weights: { bytes: { "4-bit groups": 60e6, float32: 40e6 } },
  cache: { position_bytes: 46_080, blocks: 512, free_blocks: 500, block_size: 16 },
  pace: { prefill: { rows: 200, ms: 1000 }, decode: { rows: 10, ms: 500 } },
  engine: { load_s: 3 },
};

test("the cost of a cache follows from the measured speed of prefill and the network's speed", () => {
  const { weights, cache, ids } = costsOf(STATE, { tokens: 1000, gigabits: 8 });
  assert.deepEqual(weights, { bytes: 100e6, lostS: 3, movedS: 0.1 });
  assert.deepEqual(cache, { bytes: 46_080_000, lostS: 5, movedS: 0.04608 });
  assert.equal(ids.bytes, 4000);
});

test("without a measurement there is no time, without an engine there are no bytes", () => {
  const none = { prefill: { rows: 0, ms: 0 }, decode: { rows: 0, ms: 0 } };
  assert.equal(costsOf({ ...STATE, pace: none }, { tokens: 10, gigabits: 1 }).cache.lostS, null);
  const without = costsOf(
    { weights: null, cache: null, pace: null, engine: { load_s: null } },
    { tokens: 10, gigabits: 1 },
  );
  assert.deepEqual([without.weights, without.cache], [null, null]);
  assert.equal(without.ids.bytes, 40);
  assert.equal(rateOf({ rows: 0, ms: 0 }), null);
});

test("the bytes of a run count used blocks, its cache and its log", () => {
  assert.deepEqual(poolOf(STATE.cache), { used: 12, free: 500, usedBytes: 12 * 16 * 46_080 });
  assert.equal(total({}), 0);
  assert.deepEqual(runOf({ prompt_tokens: 11, steps: 16, bytes: 9 }, 10), { rows: 26, cacheBytes: 260, logBytes: 9 });
});
