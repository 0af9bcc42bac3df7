import assert from "node:assert/strict";
import { test } from "node:test";
import { answerOf, foldsOf } from "../../../../kvscope/static/stage/focus/facts.js";
import { runOf } from "../intro/intro-run.js";

test("a step is told by what it read, what was kept, and what it chose", () => {
  const run = runOf();
  run.steps[0].data.token = { ...run.steps[0].data.token, prob: 0.6 };
  run.steps[1].data.token = { ...run.steps[1].data.token, prob: 0.25 };
  assert.match(answerOf(run, 0), /^The model read 3 tokens at once and chose “.+” \(60.%\)\.$/);
  assert.match(answerOf(run, 1), /^The model read “.+” with what was kept of 3 tokens and chose “.+” \(25.%\)\.$/);
});

test("a token that a branch set was not chosen", () => {
  const run = runOf();
  run.steps[0].data.token = { ...run.steps[0].data.token, forced: true };
  assert.match(answerOf(run, 0), /^The model read 3 tokens at once\. “.+” was set by this branch\.$/);
});

test("folded parts have the step's own figures", () => {
  const run = runOf();
  const [why, kept, time] = foldsOf(run, 1);
  assert.deepEqual([why.part, kept.part, time.part], ["next-token", "kv-cache", "time"]);
  assert.match(kept.title, /128.B/);
  assert.match(time.title, /40.* ms|40.ms/);
});
