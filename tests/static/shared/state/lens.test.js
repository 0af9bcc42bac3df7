import assert from "node:assert/strict";
import { test } from "node:test";
import { progressAt, revealAt } from "../../../../kvscope/static/shared/state/easing.js";
import { lensMs, lensOf } from "../../../../kvscope/static/shared/state/lens.js";
import { nextPlayhead } from "../../../../kvscope/static/shared/state/player.js";

const LAYERS = 4;
const MS = { total: 10, layers: [1, 2, 4, 1] };
const steps = Array.from({ length: 6 }, (_, step) => ({ data: { phase: step ? "decode" : "prefill", ms: MS } }));
const at = (progress, values = {}) => ({
  run: { steps, layers: LAYERS },
  step: 1,
  progress,
  reveal: revealAt(progress, LAYERS, MS),
  layerStop: null,
  playing: true,
  following: false,
  reducedMotion: false,
  speed: 1,
  selection: { layer: 2, view: "head" },
  ...values,
});
const inside = (layer, part) => progressAt(layer, LAYERS, MS) * (1 - part) + progressAt(layer + 1, LAYERS, MS) * part;

/** How long the playhead stays in a layer, in ms, asked of the player in frames of 10 ms. */
function msIn(layer, values) {
  let state = at(0, values);
  let frames = 0;
  for (; state.step === (values?.step ?? 1) && state.progress < 1; frames += 0) {
    const before = Math.floor(state.reveal);
    state = { ...state, ...nextPlayhead(state, 10) };
    state.reveal = revealAt(state.progress, LAYERS, MS);
    if (before === layer) frames += 1;
  }
  return frames * 10;
}

test("the lens is open while the selected layer runs, and closed before and after it", () => {
  assert.equal(lensOf(at(inside(1, 0.9))), null);
  const half = lensOf(at(inside(2, 0.5)));
  assert.deepEqual([half.layer, half.stands], [2, false]);
  assert.ok(Math.abs(half.part - 0.5) < 1e-6);
  assert.equal(lensOf(at(inside(3, 0.1))), null);
  assert.equal(lensOf(at(1)), null);
});

test("the selected layer is slow enough to follow, the others keep their speed", () => {
  assert.ok(msIn(2) >= 1500 && msIn(2) <= 2000, `${msIn(2)} ms`);
  for (const layer of [0, 1, 3]) assert.ok(msIn(layer) <= 200, `${msIn(layer)} ms in layer ${layer}`);
  assert.ok(msIn(2, { step: 4 }) < msIn(2), "steps that are alike take less");
});

test("if the layer cannot be followed, nothing slows down and the lens stays closed", () => {
  for (const values of [
    { speed: 4 },
    { following: true },
    { reducedMotion: true },
    { selection: { layer: 2, view: "intro" } },
  ]) {
    assert.equal(lensMs(at(0, values), 1), 0);
    assert.equal(lensOf(at(inside(2, 0.5), values)), null);
  }
  assert.ok(msIn(2, { speed: 4 }) < 200);
});

test("a walk stops at the layer with the whole layer visible, unless another is selected", () => {
  const stands = (layer) => at(0.3, { layerStop: 3, reveal: 3, selection: { layer, view: "head" } });
  assert.deepEqual(lensOf(stands(2)), { layer: 2, part: 1, stands: true });
  assert.equal(lensOf(stands(0)), null);
  assert.deepEqual(lensOf({ ...stands(2), reducedMotion: true }), { layer: 2, part: 1, stands: true });
});

test("without a step there is no lens", () => {
  assert.equal(lensOf(at(0.5, { run: null })), null);
  assert.equal(lensOf(at(0.5, { run: { steps: [], layers: LAYERS } })), null);
});
