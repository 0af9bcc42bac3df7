import assert from "node:assert/strict";
import { test } from "node:test";
import {
  compareTwin,
  logitDifference,
  rowsWithoutCache,
  twinAmong,
} from "../../../../kvscope/static/shared/facts/twins.js";
import { pluck } from "../../support/lists.js";

const PROMPT = 3;

function step(at, { rows, token = at, logits = { 1: 5, 2: 4, 3: 3 }, ms = 10 }) {
  const order = Object.entries(logits).sort(([, a], [, b]) => b - a);
  return {
    firstQuery: at === 0 ? 0 : PROMPT + at - 1,
    rows: at === 0 ? PROMPT : 1,
    topIds: Int32Array.from(order, ([id]) => Number(id)),
    topLogits: Float32Array.from(order, ([, logit]) => logit),
    data: { rows_computed: rows, ms: { forward: ms }, flops: 100 * rows, bytes_read: 1000, token: { id: token } },
  };
}

const cached = () => ({ steps: [0, 1, 2].map((at) => step(at, { rows: at ? 1 : PROMPT })) });
const twinOf = (parts = {}) => ({
  steps: [0, 1, 2].map((at) => step(at, { rows: PROMPT + at, ms: 20, ...parts[at] })),
});

test("logits are compared by token, whatever their order, if both list them", () => {
  const a = step(0, { rows: 1, logits: { 1: 5, 2: 4, 3: 3 } });
  const b = step(0, { rows: 1, logits: { 2: 5.5, 1: 5.25, 9: 3 } });
  assert.deepEqual(logitDifference(a, b), { largest: 1.5, compared: 2 });
});

test("totals and steps have the rows, work and time of each run", () => {
  const found = compareTwin(cached(), twinOf());
  assert.deepEqual(found.cached, { rows: 5, flops: 500, read: 3000 });
  assert.deepEqual(found.twin, { rows: 12, flops: 1200, read: 3000 });
  assert.equal(found.again, 7);
  assert.deepEqual(pluck(found.steps, "again"), [0, 3, 4]);
  assert.equal(found.parting, null);
  assert.deepEqual(found.logits, { largest: 0, compared: 3, of: 3 });
});

test("times are of the steps that were undisturbed on both sides, if these are at least half", () => {
  const disturb = (run, ...steps) => {
    for (const at of steps) run.steps[at].data.conditions = { disturbed: true, others: 0, waiting: 0.5 };
    return run;
  };
  const times = (mine, its) => compareTwin(disturb(cached(), ...mine), disturb(twinOf(), ...its)).times;
  assert.deepEqual(times([], []), { steps: 3, cached: 30, twin: 60, disturbed: false });
  assert.deepEqual(times([1], []), { steps: 2, cached: 20, twin: 40, disturbed: false });
  assert.deepEqual(times([1], [1]), { steps: 2, cached: 20, twin: 40, disturbed: false });
  assert.deepEqual(times([1], [2]), { steps: 3, cached: 30, twin: 60, disturbed: true });
});

test("a growing twin is compared over its steps so far", () => {
  const found = compareTwin(cached(), { steps: twinOf().steps.slice(0, 2) });
  assert.deepEqual([found.steps.length, found.cached.rows, found.twin.rows], [2, 4, 7]);
});

test("the largest difference is that of the worst step", () => {
  const found = compareTwin(cached(), twinOf({ 1: { logits: { 1: 5, 2: 4.25, 3: 3 } } }));
  const { logits, steps } = found;
  assert.deepEqual([logits.largest, steps[1].logits.largest, steps[2].logits.largest], [0.25, 0.25, 0]);
});

test("after the texts differ, logits are not compared", () => {
  const found = compareTwin(cached(), twinOf({ 1: { token: 77 }, 2: { logits: { 1: 99 } } }));
  assert.equal(found.parting, 1);
  assert.equal(found.steps[1].logits.largest, 0, "the step that parts still had the same tokens behind it");
  assert.equal(found.steps[2].logits, null);
  assert.equal(found.logits.largest, 0);
});

test("what a run would compute without a cache is every position again", () => {
  assert.deepEqual(rowsWithoutCache(cached()), { cached: 5, without: 3 + 4 + 5, again: 7 });
});

test("of a family, the newest complete twin of this run and kind is shown", () => {
  const study = { kind: "twin", of: "r", cache: "none" };
  const twin = (id, created, parts = {}) => ({ id, created, reason: "length", study, ...parts });
  const runs = [
    { id: "r", created: "1", reason: "length", study: null },
    twin("old", "2"),
    twin("new", "3"),
    twin("stopped", "4", { reason: "stopped" }),
    twin("other", "5", { study: { ...study, of: "q" } }),
    twin("forgot", "6", { study: { ...study, cache: "forgotten" } }),
    { id: "beam", created: "7", reason: "length", study: { kind: "beam", of: "r" } },
  ];
  assert.equal(twinAmong(runs, "r", { cache: "none" }), "new");
  assert.equal(twinAmong(runs, "r", { cache: "forgotten" }), "forgot");
  assert.equal(twinAmong(runs.slice(3, 4), "r", { cache: "none" }), "stopped");
  assert.equal(twinAmong([...runs, twin("running", "8", { reason: null })], "r", { cache: "none" }), "running");
  assert.equal(twinAmong(runs.slice(0, 1), "r", { cache: "none" }), null);
});
