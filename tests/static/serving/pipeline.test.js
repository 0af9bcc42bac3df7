import assert from "node:assert/strict";
import { test } from "node:test";
import { lanesOfEngines } from "../../../kvscope/static/serving/engines.js";
import { bodyOf } from "../../../kvscope/static/serving/experiments.js";
import { PIPELINE } from "../../../kvscope/static/serving/pipeline.js";
import { resultOf } from "../../../kvscope/static/serving/results.js";
import { folded, SETTINGS } from "./made.js";
import { framesOn } from "./on-engines.js";

const POSTED = { system: "s", requests: [], settings: SETTINGS };
const rounds = bodyOf(PIPELINE, POSTED, 30).rounds.map(({ engines }) => ({ engines }));

/** Each pass of a round with halves takes half of its time in each, and its rows move in 1 ms of the second. */
const frames = framesOn(rounds).map((frame) => {
  if (frame.kind !== "pass" || rounds[frame.data.round].engines.stages === 1) return frame;
  const { start_ms, ms, members } = frame.data;
  const rows = members.reduce((sum, member) => sum + member.rows, 0);
  const stages = [
    { start_ms, ms: ms / 2, bytes: 0, took_ms: 0 },
    { start_ms: start_ms + ms / 2 + 1, ms: ms / 2 - 1, bytes: rows * 8 * 4, took_ms: 1 },
  ];
  return { ...frame, data: { ...frame.data, stages } };
});

test("one engine is compared with two halves of the layers, with one batch and with two", () => {
  assert.deepEqual(
    rounds.map(({ engines }) => [engines.count, engines.stages]),
    [
      [1, 1],
      [1, 2],
      [2, 2],
    ],
  );
});

test("each half of the layers has its own times, and the bytes of its rows are set beside the formula", () => {
  const log = folded(frames);
  log.open.model.d = 8;
  const result = resultOf(log);
  assert.equal(result.experiment, PIPELINE);
  assert.deepEqual(
    result.rounds.map(({ name }) => name),
    ["one engine", "two halves, one batch", "two halves, two batches"],
  );
  const [first, second] = lanesOfEngines(log.rounds[2]);
  assert.deepEqual([first.busy, second.busy], [0.57, 0.51]);
  assert.deepEqual(
    second.passes.map(({ start_ms }) => start_ms),
    [21, 15, 48.5],
  );
  assert.ok(result.conclusion.includes("18 rows × 8 numbers × 4 bytes = 576 bytes, in 3.0 ms"), result.conclusion);
});
