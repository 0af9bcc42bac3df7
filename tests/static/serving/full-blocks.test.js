import assert from "node:assert/strict";
import { test } from "node:test";
import { blocksOf } from "../../../kvscope/static/serving/blocks.js";
import { BUDGETED } from "../../../kvscope/static/serving/budget.js";
import { FULL_BLOCKS } from "../../../kvscope/static/serving/full-blocks.js";
import { experimentOf, resultOf } from "../../../kvscope/static/serving/results.js";
import { whatHappened } from "../../../kvscope/static/serving/sentences.js";
import { tallyOf } from "../../../kvscope/static/serving/tally.js";
import { pluck } from "../support/lists.js";
import { BLOCK_SIZE, folded, framesOf, REQUESTS, SETTINGS } from "./made.js";

const BLOCKS = { ...SETTINGS, prefix: /** @type {const} */ ("blocks") };

/** The second round by full blocks: at its end the first block of A and B is cached, and one of A was evicted before. */
function byBlocks() {
  const frames = framesOf([SETTINGS, BLOCKS]).map((frame) => structuredClone(frame));
  for (const { kind, data } of frames) {
    if (kind !== "pass" || data.round === 0) continue;
    data.pool.cached = [];
    if (data.number !== 5) continue;
    data.pool.cached = [
      { block: 5, request: 1 },
      { block: 0, request: 0 },
    ];
    for (const request of data.requests) request.table = [];
    data.events.push({ ms: 60, what: "evicted", request: 0, count: 2, other: null });
  }
  return folded(frames);
}

test("a cached block has the request that filled it, and its place in the order of evictions", () => {
  const { rounds } = byBlocks();
  const cells = blocksOf(rounds[1].passes[2], BLOCK_SIZE);
  const seen = [0, 5]
    .map((id) => cells.get(id))
    .map(({ owners, cachedOf, evictedAs, filled }) => [owners, cachedOf, evictedAs, filled]);
  assert.deepEqual(seen, [
    [[], [0], 2, BLOCK_SIZE],
    [[], [1], 1, BLOCK_SIZE],
  ]);
  assert.ok(tallyOf(rounds[1], REQUESTS).touched.has(5), "it stays drawn");
});

test("the result counts hits, evictions and rows that were computed", () => {
  const result = resultOf(byBlocks());
  assert.equal(result.experiment, FULL_BLOCKS);
  assert.deepEqual(pluck(result.rounds, "values"), [
    [10, 4, 0, 0],
    [10, 4, 2, 0],
  ]);
});

test("an older log shares token by token, without a budget", () => {
  const { budget: _budget, prefix: _prefix, ...older } = SETTINGS;
  const log = folded(framesOf([older, { ...older, budget: 9 }]));
  assert.deepEqual(log.study.rounds[0], { ...SETTINGS, speed: 1, engines: null, tier: "none" });
  assert.equal(experimentOf(log.study), BUDGETED);
});

test("what a cancellation leaves in the cache depends on what is shared", () => {
  const cancelled = (settings) => {
    const log = folded(framesOf([settings]));
    log.rounds[0].passes[2].events.push({ ms: 35, what: "cancelled", request: 1, count: 2, other: null });
    const happened = whatHappened(log.rounds[0], REQUESTS, tallyOf(log.rounds[0], REQUESTS), null);
    return happened.find(({ what, request }) => what === "cancelled" && request === 1).rest;
  };
  assert.notEqual(cancelled(BLOCKS), cancelled(SETTINGS));
});
