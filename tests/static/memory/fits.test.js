import assert from "node:assert/strict";
import { test } from "node:test";
import { fits, mostRequests, mostTokens, roomForCache, usedBytes } from "../../../kvscope/static/memory/fits.js";
import { LIMITS } from "../../../kvscope/static/memory/limits.js";
import { gpuOf, MODELS, modelOf, small } from "./known.js";
import { assertOpens } from "./opens.js";

const FP16 = { dtype: "fp16" };
const H100 = gpuOf("h100-sxm");

const on = (gpu, changes = {}) => ({
  ...{ context: 8192, requests: 1, prefix: 0, cache: FP16, weights: FP16, gpus: 1, gpu },
  ...changes,
});

test("the room for the cache is what the weights leave", () => {
  assert.equal(roomForCache(modelOf("llama-3-8b"), on(H100)).value, 80e9 - 16_060_522_496);
  assert.equal(usedBytes(modelOf("llama-3-8b"), on(H100)).value, 16_060_522_496 + 1_073_741_824);
});

test("so many requests fit: known by division", () => {
  const most = mostRequests(modelOf("llama-3-8b"), on(H100));
  assert.equal(most.value, Math.floor((80e9 - 16_060_522_496) / 1_073_741_824));
  assert.equal(most.stop, "memory");
  const shared = mostRequests(modelOf("llama-3-8b"), on(H100, { prefix: 8000 }));
  assert.equal(shared.value, Math.floor((80e9 - 16_060_522_496 - 131_072 * 8000) / (131_072 * 192)));
});

test("the longest context: by division, or that of the model's config", () => {
  const longest = mostTokens(modelOf("llama-3.1-8b"), on(H100));
  assert.deepEqual([longest.value, longest.stop], [131_072, "context"]);
  const full = mostTokens(modelOf("llama-3.1-8b"), on(H100, { requests: 8 }));
  assert.deepEqual([full.value, full.stop], [Math.floor((80e9 - 16_060_522_496) / 131_072 / 8), "memory"]);
});

test("weights that do not fit leave room for nothing", () => {
  for (const most of [mostTokens, mostRequests]) {
    const found = most(modelOf("deepseek-v3"), on(H100));
    assert.deepEqual([found.value, found.stop, found.cache], [0, "weights", null]);
    assert.ok(found.room.value < 0);
  }
  assert.equal(fits(modelOf("deepseek-v3"), on(H100)), false);
  assert.equal(fits(modelOf("deepseek-v3"), on(gpuOf("mi300x"), { gpus: 8 })), true);
});

test("a window ends what a context costs, and the largest numbers end the counting", () => {
  const windowed = small({ window: { tokens: 5, layers: [0, 1] } });
  const tiny = { memory: 20_000, bandwidth: 1, flops: 1 };
  const found = mostTokens(windowed, on(tiny));
  assert.deepEqual([found.value, found.stop, found.cache.value], [LIMITS.context, "limit", 5 * 32]);
  const same = mostRequests(small(), on(tiny, { context: 10, prefix: 10 }));
  assert.deepEqual([same.value, same.stop], [LIMITS.requests, "limit"], "all the same tokens: stored once");
});

test("the maximum fits, and one more does not", () => {
  const loads = [{}, { gpus: 8, requests: 64 }, { prefix: 1000, cache: { dtype: "int4", group: 32 } }];
  const found = [
    { find: mostTokens, with: (load, context) => ({ ...load, context, prefix: Math.min(load.prefix, context) }) },
    { find: mostRequests, with: (load, requests) => ({ ...load, requests }) },
  ];
  const seen = new Set();
  for (const model of MODELS) {
    for (const gpu of ["t4", "a100-80gb", "b200"]) {
      for (const load of loads.map((changes) => on(gpuOf(gpu), changes))) {
        for (const { find, with: changed } of found) {
          const { value, stop } = find(model, load);
          seen.add(stop);
          if (value > 0) assert.ok(fits(model, changed(load, value)), `${model.name}: ${value}`);
          if (stop === "memory")
            assert.equal(fits(model, changed(load, value + 1)), false, `${model.name}: ${value} + 1`);
        }
      }
    }
  }
  assert.deepEqual([...seen].sort(), ["context", "memory", "weights"]);
});

test("what is in use and what is left open to their arithmetic", () => {
  for (const model of MODELS) {
    for (const result of [roomForCache(model, on(H100)), usedBytes(model, on(H100, { requests: 9, prefix: 100 }))]) {
      assertOpens(result);
    }
  }
});
