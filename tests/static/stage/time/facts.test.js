import assert from "node:assert/strict";
import { test } from "node:test";
import { median } from "../../../../kvscope/static/shared/facts/median.js";
import { cacheBytes, cacheGrowth, otherCaches } from "../../../../kvscope/static/stage/kv-cache/facts.js";
import { barWidths, hitBars } from "../../../../kvscope/static/stage/time/bars.js";
import { phaseFacts, timeFacts } from "../../../../kvscope/static/stage/time/facts.js";
import { columns, pluck } from "../../support/lists.js";
import { madeRun } from "../../support/made-run.js";

const timed = (forward, flops, read) => ({
  ms: { forward, capture: 1, sample: 1, total: forward + 2, chunks: [forward] },
  flops,
  bytes_read: read,
});
const run = madeRun({
  words: ["a", "b", "c", "d", "e"],
  promptLength: 2,
  steps: { 0: timed(20, 4000, 500), 1: timed(10, 1000, 500), 2: timed(30, 1100, 600), 3: timed(12, 1200, 700) },
});

test("a median is the middle value, or halfway between the two middle ones", () => {
  assert.deepEqual([median([9, 1, 4]), median([9, 1, 4, 2]), median([7])], [4, 3, 7]);
  assert.ok(Number.isNaN(median([])));
});

test("a step's time is its own, and decode's what had been measured by then", () => {
  const first = timeFacts(run, 0);
  assert.deepEqual([first.prefill.ms, first.prefill.tokens, first.prefill.perToken, first.decode], [22, 2, 11, null]);
  const { decode, parts, total } = timeFacts(run, 2);
  assert.deepEqual(decode, { here: 32, median: 22, perSecond: 1000 / 22, steps: [12, 32], of: 2, disturbed: false });
  assert.deepEqual(columns(parts, "name", "ms"), { name: ["forward", "capture", "sample"], ms: [30, 1, 1] });
  assert.equal(total, 32);
});

test("a phase's figures are its forward passes', decode's the medians", () => {
  const { rows, ms, msPerToken, intensity, flopsPerToken, readPerToken, ...prefill } = phaseFacts(run, "prefill");
  assert.deepEqual([rows, ms, msPerToken, intensity, flopsPerToken, readPerToken], [2, 20, 10, 8, 2000, 250]);
  assert.deepEqual([prefill.flopsPerSecond, prefill.bytesPerSecond], [200_000, 25_000]);
  const decode = phaseFacts(run, "decode");
  assert.deepEqual([decode.steps, decode.rows, decode.ms, decode.msTotal], [3, 1, 12, 14]);
  assert.deepEqual([decode.flops, decode.read], [1100, 600]);
  assert.equal(phaseFacts({ ...run, steps: run.steps.slice(0, 1) }, "decode"), null);
});

test("other caches are ratios of the formula, and the model's own kind is not among them", () => {
  const gqa = { layers: 30, heads: 9, kv_heads: 3, head_dim: 64, element_bytes: 4 };
  const ratios = Object.fromEntries(otherCaches(gqa).map(({ id, ratio }) => [id, ratio]));
  assert.deepEqual(ratios, { mha: 3, mqa: 1 / 3, bf16: 0.5, int8: 0.25 });
  assert.equal(cacheBytes({ ...gqa, kv_heads: 9 }, 7), ratios.mha * cacheBytes(gqa, 7));
  assert.equal(cacheBytes({ ...gqa, element_bytes: 2 }, 7), ratios.bf16 * cacheBytes(gqa, 7));
  const single = { ...gqa, heads: 1, kv_heads: 1, element_bytes: 2 };
  assert.deepEqual(pluck(otherCaches(single), "id"), ["int8"]);
});

test("growth is what was measured, step by step", () => {
  const { used, reserved } = cacheGrowth(run);
  assert.deepEqual(columns(used, "x", "y"), { x: [0, 1, 2, 3], y: run.steps.map(({ data }) => data.kv.bytes_used) });
  assert.ok(reserved.every(({ y }, step) => y >= used[step].y));
});

test("a bar is hit over its own place, and the first is prefill's, wider than the others", () => {
  const { prefill, pitch } = barWidths(4, 400);
  assert.ok(prefill > pitch);
  assert.equal(hitBars(4, 400, prefill - 1), 0);
  assert.equal(hitBars(4, 400, prefill + pitch + 1), 2);
  assert.equal(hitBars(4, 400, prefill + 3 * pitch + 1), null);
  assert.equal(hitBars(1, 400, 300), null);
  const many = barWidths(800, 400);
  assert.ok(Math.abs(many.prefill + 799 * many.pitch - 400) < 1e-9);
});
