import assert from "node:assert/strict";
import test from "node:test";
import { laidOut } from "../../../../kvscope/static/shared/draw/plane-layout.js";

const BOX = { width: 320, height: 300, letter: 7 };

/** Repeatable numbers from −1 to 1. */
function drawn(count, seed) {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (state * 16807) % 2147483647;
    return (state / 2147483647) * 2 - 1;
  });
}

test("dots and labels stay in the box", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const points = drawn(13, seed).map((x, index) => [x, drawn(13, seed + 99)[index]]);
    const labels = points.map((_, index) => "w".repeat(1 + (index % 12)));
    for (const [index, { x, y, left, baseline }] of laidOut(points, labels, BOX).entries()) {
      assert.ok(x >= 0 && x <= BOX.width && y >= 0 && y <= BOX.height);
      assert.ok(left >= 0 && left + labels[index].length * BOX.letter <= BOX.width + 1e-9);
      assert.ok(baseline > 0 && baseline <= BOX.height);
    }
  }
});

test("both axes have the same scale", () => {
  const points = [
    [0, 0],
    [1, 0],
    [0, 1],
  ];
  const [origin, right, up] = laidOut(points, ["a", "b", "c"], BOX);
  assert.ok(Math.abs(right.x - origin.x - (origin.y - up.y)) < 1e-9);
  assert.equal(right.y, origin.y);
});

test("labels do not overlap where there is space", () => {
  const points = [
    [0, 0],
    [0.02, 0.01],
    [1, 1],
  ];
  const [one, other] = laidOut(points, ["one", "other", "far"], BOX);
  const apart =
    Math.abs(one.baseline - other.baseline) >= 15 || one.left + 21 <= other.left || other.left + 35 <= one.left;
  assert.ok(apart);
});

test("points at the same place get a finite position", () => {
  const same = [
    [0, 0],
    [0, 0],
  ];
  for (const { x, y } of laidOut(same, ["a", "b"], BOX)) assert.deepEqual([x, y], [160, 150]);
});
