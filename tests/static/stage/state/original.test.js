import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFrame } from "../../../../kvscope/static/shared/log/frames.js";
import { Run } from "../../../../kvscope/static/shared/log/run.js";
import { followOriginal } from "../../../../kvscope/static/stage/state/original.js";
import { createStore } from "../../../../kvscope/static/stage/state/store.js";
import { pluck } from "../../support/lists.js";
import { smallRun } from "../../support/wire.js";

const FRAMES = smallRun().map(decodeFrame);

function harness() {
  const watches = [];
  const client = {
    watch(id, _after, handlers) {
      const watch = { id, handlers, stopped: false };
      watches.push(watch);
      return () => {
        watch.stopped = true;
      };
    },
  };
  const store = createStore();
  const dispose = followOriginal({ store, client });
  const open = (changed, saved = null) => {
    const run = new Run("changed", saved);
    store.dispatch({ type: "opened", run, playing: false });
    run.push({ ...FRAMES[0], run: "changed", data: { ...FRAMES[0].data, changed } });
    store.dispatch({ type: "grew" });
  };
  return { store, watches, open, dispose };
}

test("the original of a changed run is watched, and grows beside it", () => {
  const { store, watches, open, dispose } = harness();
  open({ of: "r1", changes: [] });
  assert.deepEqual(pluck(watches, "id"), ["r1"]);
  for (const frame of FRAMES) watches[0].handlers.onFrame(frame);
  const { run, problem } = store.state().original;
  assert.deepEqual([run.id, run.steps.length, problem], ["r1", 3, null]);
  dispose();
  assert.equal(watches[0].stopped, true);
});

test("another run takes its place, and an ordinary or a saved run has none", () => {
  const { store, watches, open } = harness();
  open({ of: "r1", changes: [] });
  watches[0].handlers.onFrame(FRAMES[0]);
  open(null);
  assert.deepEqual([watches[0].stopped, store.state().original], [true, null]);
  open({ of: "a label", changes: [] }, { id: "s", run: "changed" });
  assert.equal(watches.length, 1);
});

test("an original that is gone is said to be", () => {
  const { store, watches, open } = harness();
  open({ of: "r1", changes: [] });
  watches[0].handlers.onProblem({ status: 404 });
  assert.deepEqual([store.state().original.run, store.state().original.problem.status], [null, 404]);
});
