import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyOf } from "../../../kvscope/static/serving/experiments.js";
import { answered, LOAD, percentile, within } from "../../../kvscope/static/serving/load.js";
import { resultOf } from "../../../kvscope/static/serving/results.js";
import { assertEach } from "../support/lists.js";
import { folded, framesOf, REQUESTS, SETTINGS } from "./made.js";

const POSTED = { system: "s", requests: REQUESTS.map(({ tokens: _, ...request }) => request), settings: SETTINGS };
const [REQUESTS_SENT, GAP] = [400, 500];

test("a percentile is the smallest value that so many percent do not exceed", () => {
  const values = [30, 10, null, 40, 20];
  assertEach([25, 26, 50, 75, 95], (share) => percentile(values, share), [10, 20, 20, 30, 40]);
  assert.equal(percentile([null], 50), null);
});

test("the same requests of the form arrive at random in each round, with the chosen time between two on average", () => {
  const body = () =>
    bodyOf(LOAD, { ...POSTED, settings: { ...SETTINGS, budget: 64 } }, 30, { requests: REQUESTS_SENT, gap: GAP });
  const { requests, rounds } = body();
  assert.deepEqual(body().requests, requests);
  assert.equal(requests.length, REQUESTS_SENT);
  const gaps = requests.slice(1).map(({ arrives_ms }, at) => arrives_ms - requests[at].arrives_ms);
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
  // The mean of n exponential gaps is within 4 ÷ √n of theirs, and their deviation is as large as their mean.
  assert.ok(Math.abs(mean / GAP - 1) < 0.2 && Math.abs(deviation / mean - 1) < 0.2, `${mean} ± ${deviation}`);
  assert.ok(requests.every(({ cancel_ms }) => cancel_ms === null));
  assert.deepEqual(new Set(requests.map(({ prompt }) => prompt)), new Set(["a", "b", "c"]));
  assert.deepEqual(new Set(rounds.map(({ budget }) => budget)), new Set([64]), "the form’s other settings");
});

test("a round is counted: arrivals per second, times of each answer, the longest queue and the full batches", () => {
  const result = resultOf(folded(framesOf([1, 2].map((speed) => ({ ...SETTINGS, speed })))));
  const [slow, fast] = result.rounds.map(({ details }) => details);
  assert.equal(result.experiment, LOAD);
  assert.deepEqual(slow.served, [
    { ttft: 10, tpot: 15 },
    { ttft: 22, tpot: 10 },
  ]);
  assert.ok(Math.abs(slow.rate - 2 / 0.015) < 1e-9);
  assert.deepEqual([slow.tokens, slow.seconds, fast.seconds], [5, 0.04, 0.08]);
  assert.deepEqual([slow.queue, slow.full, slow.waits], [1, 2 / 3, { blocks: 0, budget: 0 }]);
  assert.deepEqual([slow.busy, slow.disturbed], [1, 0]);
  const frames = framesOf([1, 2].map((speed) => ({ ...SETTINGS, speed })));
  frames[1].data.conditions = { disturbed: true, others: 1, waiting: 0, switches: 0, stolen: null };
  assert.equal(resultOf(folded(frames)).rounds[0].details.disturbed, 1 / 3);
  const goodput = (objective) => answered(slow, within(slow, objective));
  assert.equal(goodput({ ttft: 22, tpot: 15 }), 50);
  assert.equal(goodput({ ttft: 21, tpot: 15 }), 25);
  assert.equal(goodput({ ttft: 22, tpot: 14 }), 25);
});

/** A round in which each of ten requests got its first token after `ttft` ms. */
function side(rate, ttft, seconds, more = {}) {
  const answers = Array.from({ length: 10 }, () => ({ arrived: 0, outputs: [{ ms: ttft }] }));
  const load = { rate, seconds, served: answers, queue: 3, full: 0.6, waits: { blocks: 0, budget: 0 } };
  return { answers, round: { passes: [] }, details: { ...load, preempted: { times: 0, rows: 0 }, ...more } };
}

test("the knee is where the slowest requests wait twice as long, and the page says what was counted there", () => {
  const full = side(4, 900, 4, { waits: { blocks: 2, budget: 0 }, preempted: { times: 1, rows: 9 } });
  const knee = LOAD.conclusion(side(1, 200, 10), side(2, 300, 5), full, side(8, 3000, 4));
  assert.match(knee, /^The knee is between 2.0 and 4.0 requests per second: .* within 900 ms, .* within 200 ms\./);
  assert.match(
    knee,
    /full in 60\s% of the passes\. At most 3 requests waited .* 2 requests waited for free blocks\. Preemptions: 1\.$/,
  );
});

test("without a knee, the page says whether the rates were too low or too high", () => {
  assert.match(LOAD.conclusion(side(1, 200, 10), side(2, 210, 5)), /^No knee: at every rate/);
  const free = { full: 0, queue: 0 };
  assert.match(LOAD.conclusion(side(1, 200, 10, free), side(2, 900, 5, free)), /^No knee/, "no limit was reached");
  assert.match(
    LOAD.conclusion(side(1, 200, 10, { served: [] }), side(2, 9, 5)),
    /^In a round, no request was answered/,
  );
  assert.match(
    LOAD.conclusion(side(4, 2000, 5), side(8, 5000, 5)),
    /^At 4.0 requests per second, the lowest rate, .* answered 2.0 per/,
  );
  const busy = { busy: 0.95 };
  assert.match(
    LOAD.conclusion(side(4, 2000, 5, busy), side(8, 5000, 2, busy)),
    /^At 4.0 requests per second, the lowest rate, .* answered 2.0 per/,
    "also if it answered more at the next rate",
  );
  assert.match(
    LOAD.conclusion(side(4, 2000, 5, { busy: 0.5 }), side(8, 5000, 2)),
    /^The knee/,
    "it was idle meanwhile",
  );
});
