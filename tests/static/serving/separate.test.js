import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyOf } from "../../../kvscope/static/serving/experiments.js";
import { resultOf } from "../../../kvscope/static/serving/results.js";
import { SEPARATE } from "../../../kvscope/static/serving/separate.js";
import { folded, SETTINGS } from "./made.js";
import { BLOCK_BYTES, framesOn } from "./on-engines.js";

const ROUNDS = [0, 1].map((prefill) => ({ engines: { count: 2, route: "least", prefill } }));

test("long prompts arrive while answers are written, read within the chosen token budget", () => {
  const { requests, rounds } = bodyOf(SEPARATE, { system: "s", requests: [], settings: SETTINGS }, 30, { budget: 64 });
  assert.deepEqual(
    rounds.map(({ engines, budget }) => [engines.prefill, budget]),
    [
      [0, 64],
      [1, 64],
    ],
  );
  const long = requests.filter(({ arrives_ms }) => arrives_ms > 0);
  assert.equal(new Set(long.map(({ prompt }) => prompt)).size, long.length, "no prompt is in a cache already");
});

test("the bytes that moved are set beside the formula", () => {
  const result = resultOf(folded(framesOn(ROUNDS)));
  assert.equal(result.experiment, SEPARATE);
  assert.deepEqual(
    result.rounds.map(({ name }) => name),
    ["both do both", "apart"],
  );
  assert.equal(result.rounds[1].values[3], 2 * BLOCK_BYTES);
  assert.ok(
    result.conclusion.includes(
      "2 × 2 (K and V) × 2 layers × 3 KV heads × 8 numbers × 4 bytes × 4 tokens = 3,072 bytes",
    ),
  );
  assert.match(result.conclusion, /at most 30 ms between two tokens/);
  assert.match(
    result.conclusion,
    /computed 2 rows: those of unfilled or evicted blocks again, and one of each first token/,
  );
});
