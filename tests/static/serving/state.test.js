import assert from "node:assert/strict";
import { test } from "node:test";
import {
  initialState,
  isMoving,
  nextPass,
  openingPass,
  reduce,
  shownPass,
} from "../../../kvscope/static/serving/state.js";
import { folded } from "./made.js";

const passes = Array.from({ length: 4 }, () => ({ ms: 100 }));
const LIVE = { passes, close: null };
const OVER = { passes, close: { reason: "done" } };
const after = (log, ...actions) => [{ type: "grew", log }, ...actions].reduce(reduce, { ...initialState, speed: 1 });
const openedAt = (pass) => ({ type: "open", run: "a", pass });
const ticked = (state, ms) => reduce(state, { type: "tick", playhead: nextPass(state, ms) });

test("the newest pass is followed until somebody chooses one", () => {
  assert.equal(shownPass(after(LIVE)), 3);
  assert.equal(shownPass(initialState), -1);
  assert.equal(shownPass([openedAt(9), { type: "grew", log: LIVE }].reduce(reduce, initialState)), 3);
  const back = after(LIVE, { type: "step", by: -1 });
  assert.deepEqual([back.mode, shownPass(back)], ["resting", 2]);
  const grown = { passes: [...passes, ...passes], close: null };
  assert.equal(shownPass(reduce(back, { type: "grew", log: grown })), 2);
  assert.equal(shownPass(after(LIVE, { type: "go", to: 99 })), 3);
  assert.equal(after(LIVE, { type: "go", to: 1 }, { type: "follow" }).mode, "following");
  assert.equal(after(LIVE, { type: "go", to: 1 }, openedAt(null)).mode, "following");
});

test("playing takes as long as passes took, follows what still grows, and rests at an end", () => {
  const from = after(OVER, { type: "go", to: 1 }, { type: "play" });
  assert.deepEqual([from.mode, from.pass, isMoving(from)], ["playing", 1, true]);
  assert.equal(ticked(from, 99).pass, 1);
  assert.equal(ticked(ticked(from, 99), 2).pass, 2);
  assert.equal(ticked(from, 201).pass, 3);
  assert.equal(ticked(reduce(from, { type: "speed", speed: 0.25 }), 399).pass, 1);
  const end = ticked(from, 300);
  assert.deepEqual([end.mode, end.pass, isMoving(end)], ["resting", 3, false]);
  assert.equal(after(OVER, { type: "play" }).pass, 0, "at the end all of it once more");
  assert.equal(ticked(after(LIVE, { type: "play" }), 100).mode, "following");
  assert.equal(nextPass(after(OVER, { type: "play" }, { type: "pause" }), 100), null);
  assert.throws(() => after(OVER, { type: "dance" }), RangeError);
});

test("a log that is over opens where most happens", () => {
  assert.equal(openingPass(folded().passes), 1);
});
