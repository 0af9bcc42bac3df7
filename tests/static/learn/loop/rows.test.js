import assert from "node:assert/strict";
import { test } from "node:test";
import { areasOf } from "../../../../kvscope/static/learn/loop/picture.js";
import { loopOf, someSteps } from "../../../../kvscope/static/learn/loop/rows.js";
import { pluck } from "../../support/lists.js";

/** Step by step, as the loop does it. */
function counted(prompt, added) {
  const [cached, without] = [[], []];
  for (let step = 0, tokens = prompt; step < added; step++, tokens++) {
    cached.push(step === 0 ? tokens : 1);
    without.push(tokens);
  }
  const sum = (rows) => rows.reduce((all, each) => all + each, 0);
  return { with: sum(cached), without: sum(without) };
}

test("the formulas are the sums of the steps", () => {
  for (const [prompt, added] of [
    [1, 1],
    [1, 9],
    [11, 16],
    [37, 8],
    [512, 512],
    [1000, 1000],
  ]) {
    const { with: cached, without } = loopOf(prompt, added);
    assert.deepEqual({ with: cached, without }, counted(prompt, added));
  }
});

test("512 after 512, and 1,000 after 1,000", () => {
  assert.deepEqual([loopOf(512, 512).with, loopOf(512, 512).without], [1023, 392_960]);
  assert.equal(Math.round(loopOf(512, 512).ratio), 384);
  assert.equal(loopOf(1000, 1000).without, 1_499_500);
  assert.equal(Math.round(loopOf(1000, 1000).ratio), 750);
});

test("one new token computes nothing again", () => {
  assert.deepEqual(loopOf(20, 1), { with: 20, without: 20, again: 0, ratio: 1 });
  assert.deepEqual(areasOf(20, 1, { width: 40, height: 10 }), {
    prefill: "0,0 40,0 40,10 0,10",
    earlier: "",
    fresh: "",
  });
});

test("the table has the first steps and the last", () => {
  assert.deepEqual(pluck(someSteps(5, 3), "without"), [5, 6, 7]);
  assert.deepEqual(someSteps(5, 100).at(-1), { step: 99, with: 1, without: 104 });
});

/** @returns {number} by the shoelace formula */
function areaOf(polygon) {
  const corners = polygon.split(" ").map((corner) => corner.split(",").map(Number));
  const twice = corners.reduce((sum, [x, y], at) => {
    const [nextX, nextY] = corners[(at + 1) % corners.length];
    return sum + x * nextY - nextX * y;
  }, 0);
  return Math.abs(twice) / 2;
}

test("the areas of the picture have the numbers of rows", () => {
  const [prompt, added] = [11, 16];
  const box = { width: 2600, height: 1600 };
  const row = (box.width / (prompt + added - 1)) * (box.height / added);
  const { prefill, earlier, fresh } = areasOf(prompt, added, box);
  const { with: cached, again } = loopOf(prompt, added);
  assert.equal(Math.round(areaOf(earlier) / row), again);
  assert.equal(Math.round((areaOf(prefill) + areaOf(fresh)) / row), cached);
});
