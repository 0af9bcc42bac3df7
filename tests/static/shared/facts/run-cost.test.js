import assert from "node:assert/strict";
import { test } from "node:test";
import { runCost } from "../../../../kvscope/static/shared/facts/run-cost.js";

const MODEL = { layers: 30, heads: 9 };

test("the log of 512 + 512 tokens is estimated within 3 % of the measured 149.3 MB", () => {
  const { bytes } = runCost(MODEL, { row_ms: null, step_ms: null }, 512, 512);
  assert.ok(Math.abs(bytes / 149.3e6 - 1) < 0.03, String(bytes));
});

test("time is rows of the prompt and steps, once both are measured", () => {
  assert.equal(runCost(MODEL, { row_ms: 2, step_ms: 10 }, 100, 11).seconds, 0.3);
  assert.equal(runCost(MODEL, { row_ms: 2, step_ms: null }, 100, 11).seconds, null);
  assert.equal(runCost(MODEL, { row_ms: null, step_ms: 10 }, 100, 11).seconds, null);
});
