import assert from "node:assert/strict";
import { test } from "node:test";
import { accountOf, decodeSteps } from "../../../../kvscope/static/shared/compare/differences.js";
import {
  firstOwnStep,
  isComputedIn,
  isInherited,
  measuredTogether,
  rowsBefore,
  stepRows,
} from "../../../../kvscope/static/shared/facts/step-rows.js";
import { compareTwin, rowsWithoutCache } from "../../../../kvscope/static/shared/facts/twins.js";
import { lensOf } from "../../../../kvscope/static/shared/state/lens.js";
import { shelfOf } from "../../../../kvscope/static/stage/kv-cache/shelf-columns.js";
import { mapView } from "../../../../kvscope/static/stage/map/scene.js";
import { createStore } from "../../../../kvscope/static/stage/state/store.js";
import { phaseFacts, timeFacts } from "../../../../kvscope/static/stage/time/facts.js";
import { narrate } from "../../../../kvscope/static/stage/timeline/narration.js";
import { assertEach, columns } from "../../support/lists.js";
import { madeRun, withoutCache } from "../../support/made-run.js";
import { token } from "../../support/wire.js";

const STEP = { token: { ...token(" next"), prob: 0.5 }, top_tokens: [], flops: 100, bytes_read: 10 };

/** Prompt of 3, then 4 decode steps. `parent`: of the `open` frame. */
function runOf({ parent = null, reused = 0, study = null, forced = [] } = {}) {
  const words = ["a", "b", "c", "d", "e", "f", "g"];
  const steps = [0, 1, 2, 3, 4].map((at) => ({
    ...STEP,
    token: { ...STEP.token, ...(forced.includes(at) && { forced: true }) },
  }));
  const run = madeRun({ words, promptLength: 3, reused, steps });
  run.steps.forEach((step) => Object.assign(step, { topIds: Int32Array.of(1), topLogits: Float32Array.of(1) }));
  run.prefillPasses = 1;
  return Object.assign(run, { open: { ...run.open, parent, study, reused } });
}

/** Its parent computed steps 0 and 1; it set the token of step 1 and computed steps 2 to 4. */
const branch = (more = {}) => runOf({ parent: { run: "p", position: 4, token: 1 }, forced: [1], ...more });

test("a branch computed the rows after its own token, and has the earlier rows in its cache", () => {
  const run = branch();
  assert.equal(firstOwnStep(run), 2);
  assertEach([0, 1, 2], (step) => isInherited(run, step), [true, true, false]);
  assert.deepEqual(stepRows(run, 0), { computed: 0, first: 3, read: 3 });
  assert.deepEqual(stepRows(run, 1), { computed: 0, first: 4, read: 4 });
  assert.deepEqual(stepRows(run, 2), { computed: 1, first: 4, read: 4 });
  assert.equal(rowsBefore(run), 4);
  assert.deepEqual([isComputedIn(run, 0, 1), isComputedIn(run, 2, 4)], [false, true]);
});

test("rows are counted for a reused prefix, for a run without a cache, and for one that forgets it", () => {
  assert.deepEqual(stepRows(runOf({ reused: 2 }), 0), { computed: 1, first: 2, read: 2 });
  assert.equal(rowsBefore(runOf({ reused: 2 })), 2);
  const twin = (cache) => runOf({ study: { kind: "twin", cache } });
  assert.deepEqual(stepRows(withoutCache(twin("none")), 2), { computed: 5, first: 0, read: 0 });
  assert.deepEqual(stepRows(twin("forgotten"), 2), { computed: 1, first: 4, read: 0 });
  assert.equal(rowsBefore(runOf()), 0);
});

test("sentence, map, cache card and time say that a branch computed nothing of an inherited step", () => {
  const run = branch();
  assert.doesNotMatch(narrate(run, 0), /the model computes/);
  assert.match(narrate(run, 0), /begins with step 2/);
  assert.equal(mapView(run, 0).firstQuery, 3);
  assert.equal(mapView(run, 2).firstQuery, 4);
  const shelf = shelfOf({ run, step: 0, settled: 0, reveal: 2 });
  assert.deepEqual([shelf.cached, shelf.fresh], [3, 0]);
  assert.deepEqual(rowsWithoutCache(run, 2), { cached: 0, without: 7, again: 7 });
  assert.equal(accountOf({ run, step: 1 }).total, null);
});

test("an inherited step is shown at once, without layers that seem to be computed", () => {
  const store = createStore();
  const run = { ...branch(), close: null };
  store.dispatch({ type: "opened", run, playing: true });
  assert.deepEqual([store.state().reveal, store.state().settled, lensOf(store.state())], [run.layers, 0, null]);
  store.dispatch({ type: "show", step: 2 });
  assert.equal(store.state().reveal, 0);
});

test("times of another run are in no median, chart or comparison of a branch", () => {
  const run = branch();
  assert.deepEqual(measuredTogether(run, 3), { from: 2, to: 5 });
  assert.deepEqual(measuredTogether(run, 0), { from: 0, to: 2 });
  const own = timeFacts(run, 3);
  assert.deepEqual([own.prefill, own.decode.steps], [null, [12, 13]]);
  assert.deepEqual([timeFacts(run, 1).prefill.ms, timeFacts(run, 1).decode.steps], [10, [11]]);
  assert.deepEqual([phaseFacts(run, "prefill"), phaseFacts(run, "decode").steps], [null, 3]);
  assert.deepEqual(decodeSteps(run).length, 3);
  const compared = compareTwin(run, runOf({ study: { kind: "twin", cache: "none" } }));
  assert.equal(compared.times.steps, 3);
  assert.deepEqual([compared.cached.rows, compared.cached.flops], [3, 300]);
  assert.deepEqual([compared.steps[0].cached.ms, compared.steps[0].again], [null, 3]);
});

test("a branch of a branch has three groups of times, separated where a token was set", () => {
  const run = runOf({ parent: { run: "p", position: 6, token: 1 }, forced: [1, 3] });
  const groups = [0, 1, 2, 3, 4].map((step) => measuredTogether(run, step));
  assert.deepEqual(columns(groups, "from", "to"), { from: [0, 0, 2, 2, 4], to: [2, 2, 4, 4, 5] });
});
