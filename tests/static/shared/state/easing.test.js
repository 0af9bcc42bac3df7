import assert from "node:assert/strict";
import { test } from "node:test";
import { progressAt, revealAt, sweepShare } from "../../../../kvscope/static/shared/state/easing.js";

/** Ten ms of step: the layers took 1, 2, 4 and 1 of them. */
const MEASURED = { total: 10, layers: [1, 2, 4, 1] };

test("a layer takes its measured share of the step", () => {
  const starts = [0, 0.1, 0.3, 0.7, 0.8].map((progress) => revealAt(progress, 4, MEASURED));
  starts.forEach((reveal, layer) => assert.ok(Math.abs(reveal - layer) < 1e-9, `${reveal} at layer ${layer}`));
  assert.ok(Math.abs(revealAt(0.5, 4, MEASURED) - 2.5) < 1e-9);
  assert.equal(sweepShare(MEASURED, 4), 0.8);
});

test("the rest of the step after the last layer shows all layers", () => {
  for (const progress of [0.8, 0.9, 1]) assert.equal(revealAt(progress, 4, MEASURED), 4);
});

test("without times of layers they appear evenly, all before the step ends", () => {
  for (const ms of [
    { total: 40 },
    { total: 40, layers: null },
    { total: 40, layers: [] },
    { total: 0, layers: [0, 0] },
    undefined,
  ]) {
    assert.equal(revealAt(0, 30, ms), 0);
    assert.ok(Math.abs(revealAt(0.3, 30, ms) - 12) < 1e-9);
    assert.equal(revealAt(0.75, 30, ms), 30);
    assert.equal(revealAt(1, 30, ms), 30);
  }
});

test("times that rounding made longer than the step end with it", () => {
  const ms = { total: 7.9, layers: [1, 2, 4, 1] };
  assert.equal(sweepShare(ms, 4), 1);
  assert.equal(revealAt(1, 4, ms), 4);
  assert.ok(revealAt(0.999, 4, ms) < 4);
});

test("the progress of a number of layers shows exactly that number", () => {
  for (const ms of [MEASURED, { total: 40 }]) {
    for (const shown of [1, 2, 3, 4]) assert.ok(Math.abs(revealAt(progressAt(shown, 4, ms), 4, ms) - shown) < 1e-9);
  }
});
