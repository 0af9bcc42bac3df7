import assert from "node:assert/strict";
import { test } from "node:test";
import { openingPass, passOfHash, played, playerAt, shownPass } from "../../../static/serving/player.js";
import { folded } from "./made.js";

const LIVE = { count: 4, live: true };
const OVER = { count: 4, live: false };
const after = (log, ...actions) => actions.reduce((player, action) => played(player, action, log), playerAt());

test("the newest pass is followed until somebody chooses one", () => {
  assert.equal(shownPass(playerAt(), 4), 3);
  assert.equal(shownPass(playerAt(), 0), -1);
  assert.equal(shownPass(playerAt(9), 4), 3);
  const back = after(LIVE, { type: "step", by: -1 });
  assert.deepEqual([back.mode, shownPass(back, 4), shownPass(back, 9)], ["resting", 2, 2]);
  assert.equal(shownPass(after(LIVE, { type: "go", to: 99 }), 4), 3);
  assert.equal(after(LIVE, { type: "go", to: 1 }, { type: "follow" }).mode, "following");
});

test("playing goes on pass by pass, follows what still grows, and rests at an end", () => {
  const from = after(OVER, { type: "go", to: 2 }, { type: "play" });
  assert.deepEqual([from.mode, from.pass], ["playing", 2]);
  const end = [1, 2].reduce((player) => played(player, { type: "tick" }, OVER), from);
  assert.deepEqual([end.mode, end.pass], ["resting", 3]);
  assert.equal(after(OVER, { type: "play" }).pass, 0, "at the end all of it once more");
  assert.equal(after(LIVE, { type: "play" }, { type: "tick" }).mode, "following");
  assert.equal(after(OVER, { type: "play" }, { type: "pause" }, { type: "tick" }).mode, "resting");
  assert.equal(after(OVER, { type: "speed", speed: 1 }).speed, 1);
  assert.throws(() => after(OVER, { type: "dance" }), RangeError);
});

test("a link names a pass, and without one what is over opens where most happens", () => {
  assert.equal(passOfHash("#pass=12"), 12);
  assert.deepEqual(["", "#pass=", "#pass=-1", "#pass=1e3", "#step=1"].map(passOfHash), [null, null, null, null, null]);
  assert.equal(openingPass(folded().passes), 1);
});
