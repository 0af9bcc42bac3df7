import assert from "node:assert/strict";
import { test } from "node:test";
import { drawnBlocks } from "../../../kvscope/static/serving/blocks.js";
import { CONTIGUOUS, heldInAll, stretchWaits } from "../../../kvscope/static/serving/contiguous.js";
import { bodyOf } from "../../../kvscope/static/serving/experiments.js";
import { whyNothingShared, whyWaits } from "../../../kvscope/static/serving/joining.js";
import { experimentOf, resultOf, roundName } from "../../../kvscope/static/serving/results.js";
import { whatHappened } from "../../../kvscope/static/serving/sentences.js";
import { tallyOf } from "../../../kvscope/static/serving/tally.js";
import { assertEach, pluck } from "../support/lists.js";
import { BLOCK_SIZE, folded, framesOf, REQUESTS, SETTINGS } from "./made.js";

const RESERVED = { ...SETTINGS, contiguous: { new_tokens: 20 } };
const STRETCH = { ms: 10, what: "waits", request: 2, count: 5, other: null, why: "stretch", free: 6, longest: 3 };

/** The first round without paging: A has blocks 0 to 5 and B 6 to 8, and C waits for a stretch. */
function reserving() {
  const frames = framesOf([RESERVED, { ...SETTINGS, contiguous: null }]).map((frame) => structuredClone(frame));
  for (const { kind, data } of frames) {
    if (kind !== "pass" || data.round) continue;
    data.pool.region = { first: 0, blocks: 6 };
    data.pool.slots = { filled: 5, empty: 0, cached: 0, free: 12, longest: 8 };
    data.events = data.events.filter(({ what }) => what !== "shared");
    for (const [request, table] of [
      [0, [0, 1, 2, 3, 4, 5]],
      [1, [6, 7, 8]],
    ])
      if (data.requests[request].state === "running") data.requests[request].table = table;
    if (data.number === 1) data.events.push({ ...STRETCH, why: "blocks" }, STRETCH);
  }
  return folded(frames);
}

test("what the reader chooses is in the body: a reservation is never below the longest answer", () => {
  const posted = { system: "", requests: REQUESTS, settings: SETTINGS };
  const { rounds, requests } = bodyOf(CONTIGUOUS, posted, 30, { reserved: 8, answer: 12 });
  assert.deepEqual([rounds[0].contiguous, rounds[1].contiguous], [{ new_tokens: 12 }, null]);
  assert.deepEqual(pluck(requests, "max_new_tokens"), [12, 8, 8]);
  assert.ok(requests[0].arrives_ms < requests[1].arrives_ms);
  assert.equal(experimentOf({ rounds, requests }), CONTIGUOUS);
  assertEach([0, 1], (number) => roundName({ rounds, requests }, number), ["reserved", "as needed"]);
});

test("what was held and what was filled is counted once for each request, when it last ran", () => {
  assert.deepEqual(heldInAll(reserving().rounds[0], BLOCK_SIZE), { held: 36, filled: 12 });
  assert.deepEqual(heldInAll(folded().rounds[0], BLOCK_SIZE), { held: 16, filled: 12 });
});

test("the result counts reservations, waits and copies in the log", () => {
  const { conclusion, rounds } = resultOf(reserving());
  assert.match(conclusion, /answer of 20 tokens/);
  assert.match(conclusion, /space for 36 tokens\. Space for 24 of them \(67.%\)/);
  assert.match(conclusion, /^(?=.*C waited for space for 20 tokens)(?=.*24 was free)(?=.*at most 12 in a row)/);
  assert.match(conclusion, /2 requests at once stored their same first 4 tokens.* up to 2 of them .* 2 copies/);
  assert.deepEqual([rounds[0].values[3], rounds[1].values[3]], [1, 0]);
  assert.deepEqual(pluck(stretchWaits(reserving().rounds[0]), "request"), [2]);
});

test("a wait for a stretch has its numbers, and is told after another reason", () => {
  const log = reserving();
  const [round] = log.rounds;
  assert.match(whyWaits(STRETCH, RESERVED), /5 blocks in a row\. 6 blocks are free.* 3 in a row/);
  assert.match(whyWaits({ why: "blocks", count: 5, free: 2 }, RESERVED), /2 of 6 blocks are free/);
  assert.match(whyNothingShared(round, 1, 1), /its own stretch/);
  const told = whatHappened(round, REQUESTS, tallyOf(round, REQUESTS), null);
  assert.ok(told.some(({ lead, rest }) => lead === "C still waits." && rest.includes("3 in a row")));
  assert.ok(told.some(({ lead, rest }) => lead === "A is done." && /6 blocks, which held 6 tokens/.test(rest)));
});

test("all of a region is drawn", () => {
  const [round] = reserving().rounds;
  assert.deepEqual(drawnBlocks(round, round.passes[0], new Set([9])), [0, 1, 2, 3, 4, 5]);
});
