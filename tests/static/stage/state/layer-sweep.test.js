import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isAwaited,
  knownStep,
  sweptSteps,
  walk,
  whenReached,
  whenSettled,
} from "../../../../kvscope/static/stage/state/layer-sweep.js";

const run = { layers: 4, steps: [{}, {}, {}], awaited: false };
const at = (step, reveal, layer = 1) => {
  const state = { run, step, reveal, selection: { layer } };
  return { ...state, ...sweptSteps(state) };
};

test("a step is there once its sweep has reached the last layer, and until then the one before", () => {
  assert.equal(at(2, 3.99).settled, 1);
  assert.equal(at(2, 4).settled, 2);
});

test("the selected layer shows a step once that layer is through", () => {
  assert.equal(at(2, 1.9).reached, 1);
  assert.equal(at(2, 2).reached, 2);
  assert.equal(at(2, 2).settled, 1);
});

test("what has not come yet may not be spoken of, neither while it plays nor while a step sweeps", () => {
  assert.equal(knownStep({ playing: true, settled: 2, step: 3 }), 2);
  assert.equal(knownStep({ playing: false, settled: -1, step: 0 }), -1);
  assert.equal(knownStep({ playing: false, settled: 3, step: 3 }), Number.POSITIVE_INFINITY);
});

test("while prefill is on its way nothing is there but places", () => {
  const state = at(0, 1);
  assert.equal(whenSettled(state).step, -1);
  assert.equal(isAwaited(whenSettled(state)), true);
  assert.equal(isAwaited(whenSettled(at(0, 4))), false);
  assert.equal(isAwaited(whenReached(at(0, 2))), false, "the selected layer is through");
});

test("a run without a step is awaited or not there", () => {
  const awaited = { run: { ...run, steps: [], awaited: true }, step: 0, reveal: 0, selection: { layer: 0 } };
  assert.deepEqual(sweptSteps(awaited), { settled: 0, reached: 0 });
  assert.equal(isAwaited(awaited), true);
  assert.equal(isAwaited({ run: null, step: 0 }), false);
});

test("at rest the state is the same object, so that nothing is rendered again", () => {
  const state = at(2, 4);
  assert.equal(whenSettled(state), state);
  assert.equal(whenReached(state), state);
});

const SIZES = { steps: 3, layers: 2 };

/** Each place of a walk, "step.layer", the layer left out at rest. */
function path(from, change, count) {
  const places = [];
  for (let at = from, left = count; left > 0; left--) {
    at = walk(at, change, SIZES);
    places.push(at.layerStop ? `${at.step}.${at.layerStop}` : `${at.step}`);
  }
  return places.join(" ");
}

test("on from a rest, layer after layer, to the next rest", () => {
  const rest = { step: 0, layerStop: null };
  assert.equal(path(rest, 1, 4), "1.1 1.2 1 2.1");
});

test("back the same way, to the first layer of the first step and no further", () => {
  const rest = { step: 1, layerStop: null };
  assert.equal(path(rest, -1, 7), "1.2 1.1 0 0.2 0.1 0.1 0.1");
});

test("from the newest rest the newest step begins again", () => {
  assert.deepEqual(walk({ step: 2, layerStop: null }, 1, SIZES), { step: 2, layerStop: 1 });
});
