import assert from "node:assert/strict";
import { test } from "node:test";
import { createPlayer } from "../../../../kvscope/static/shared/state/clock.js";
import { advance, paceOf } from "../../../../kvscope/static/shared/state/pace.js";
import {
  moves,
  nextPlayhead,
  shownMs,
  slowdownOf,
  typicalStepMs,
} from "../../../../kvscope/static/shared/state/player.js";

const stepsOf = (...times) =>
  times.map((total, index) => ({ data: { phase: index === 0 ? "prefill" : "decode", ms: { total } } }));
const steps = stepsOf(90, 40, 50, 45);
const hundred = () => paceOf(100);

test("the typical step is the median decode step, prefill only when there is no other", () => {
  assert.equal(typicalStepMs(steps), 45);
  assert.equal(typicalStepMs(stepsOf(90)), 90);
});

test("steps keep their measured proportions, and the shown factor is the applied one", () => {
  assert.equal(shownMs(steps, 1, 1) / shownMs(steps, 3, 1), 40 / 45);
  assert.equal(shownMs(steps, 1, 2), shownMs(steps, 1, 1) / 2);
  for (const step of [0, 1, 2, 3])
    assert.equal(slowdownOf(steps, step, 0.5) * steps[step].data.ms.total, shownMs(steps, step, 0.5));
});

test("a step that is too slow to watch is shortened, and its factor says so", () => {
  const slow = stepsOf(30_000, 40, 40);
  assert.ok(shownMs(slow, 0, 1) < 5_000);
  assert.ok(slowdownOf(slow, 0, 1) < 1);
});

test("time carries over from one step to the next", () => {
  assert.deepEqual(advance({ step: 0, progress: 0 }, 50, 3, hundred), { step: 0, progress: 0.5 });
  assert.deepEqual(advance({ step: 0, progress: 0.5 }, 80, 3, hundred), { step: 1, progress: 0.3 });
  assert.deepEqual(advance({ step: 0, progress: 0 }, 250, 3, hundred), { step: 2, progress: 0.5 });
});

test("the playhead rests at the end of the last step, and continues when the log grows", () => {
  const resting = advance({ step: 1, progress: 0.9 }, 500, 1, hundred);
  assert.deepEqual(resting, { step: 1, progress: 1 });
  assert.deepEqual(advance(resting, 10, 2, hundred), { step: 2, progress: 0.1 });
});

const state = (values) => ({
  ...{ run: { steps }, step: 0, progress: 0, playing: false, following: false, speed: 1 },
  ...{ selection: { view: "head" }, ...values },
});

test("following jumps to the live edge", () => {
  const playhead = nextPlayhead(state({ following: true, playing: true }), 0);
  assert.deepEqual(playhead, { step: 3, progress: 0 });
});

test("a requested step is shown to its end, and no other begins", () => {
  assert.deepEqual(nextPlayhead(state({ step: 1, progress: 0.99 }), 10_000), { step: 1, progress: 1 });
  assert.equal(moves(state({ step: 1, progress: 1 })), false);
});

test("the clock leaves a playhead that stops at a layer", () => {
  const stopped = state({ step: 1, progress: 0.4, layerStop: 12 });
  assert.equal(moves(stopped), false);
  assert.equal(nextPlayhead(stopped, 10_000), null);
  assert.equal(moves({ ...stopped, layerStop: null }), true);
});

test("without a step nothing moves", () => {
  assert.equal(nextPlayhead(state({ run: null, playing: true }), 16), null);
  assert.equal(moves(state({ run: { steps: [] }, playing: true })), false);
});

function fakeStore(initial) {
  let current = initial;
  const listeners = new Set();
  return {
    state: () => current,
    dispatch({ playhead }) {
      current = { ...current, ...playhead };
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

test("a tab that slept skips no steps when it wakes", () => {
  const store = fakeStore(state({ playing: true }));
  let frame = null;
  const stop = createPlayer({
    ...{ store, next: nextPlayhead, isMoving: moves },
    requestFrame(callback) {
      frame = callback;
      return 1;
    },
    cancelFrame() {
      frame = null;
    },
  });
  frame(0);
  frame(16);
  frame(600_000);
  assert.equal(store.state().step, 0);
  assert.ok(store.state().progress < 0.3);
  stop();
  assert.equal(frame, null);
});

test("steps of a log without times are shown alike, and no pace is compared with a measured one", () => {
  const steps = [{ data: {} }, { data: {} }];
  assert.equal(shownMs(steps, 0, 1), shownMs(steps, 1, 1));
  assert.equal(shownMs(steps, 0, 2), shownMs(steps, 0, 1) / 2);
  assert.equal(slowdownOf(steps, 0, 1), null);
});
