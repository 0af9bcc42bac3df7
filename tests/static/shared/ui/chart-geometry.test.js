import assert from "node:assert/strict";
import { test } from "node:test";
import {
  barBoxes,
  domains,
  linePath,
  nearestX,
  spread,
  stepPath,
} from "../../../../kvscope/static/shared/ui/chart-geometry.js";
import { assertEach, pluck } from "../../support/lists.js";

const scales = { x: (value) => 10 + 20 * value, y: (value) => 100 - value };
const points = [
  { x: 0, y: 0 },
  { x: 1, y: 50 },
  { x: 2, y: 30 },
];

test("lines go through the points, stairs keep a value until the next", () => {
  assert.equal(linePath(points, scales), "M10,100L30,50L50,70");
  assert.equal(stepPath(points, scales), "M10,100H30V50H50V70");
});

test("bars begin at zero, centred on their x, and a zero is visible", () => {
  const boxes = barBoxes(points, scales);
  assertEach(boxes, ({ x, width }) => x + width / 2, [10, 30, 50]);
  assertEach(boxes, ({ y, height }) => y + height, [100, 100, 100]);
  assert.deepEqual(pluck(boxes, "height"), [1, 50, 30]);
});

test("axes start at zero and have space for bars at both ends; one point makes no empty axis", () => {
  assert.deepEqual(domains([{ kind: "line", points }]), { x: [0, 2], y: [0, 50] });
  assert.deepEqual(domains([{ kind: "bar", points }]), { x: [-0.5, 2.5], y: [0, 50] });
  assert.deepEqual(domains([{ kind: "line", points: points.slice(0, 1) }]), { x: [-0.5, 0.5], y: [0, 1] });
  assert.deepEqual(
    domains([{ kind: "line", points }], 40).y,
    [0, 40],
    "a cap keeps one value from flattening the others",
  );
});

test("labels are moved apart, keep their order and stay inside", () => {
  const room = { low: 10, high: 100, least: 15 };
  assert.deepEqual(spread([50, 20], room), [50, 20], "those with room stay");
  for (const wanted of [
    [98, 99, 97, 12],
    [10, 10, 10, 10, 10],
    [100, 100, 100],
  ]) {
    const placed = spread(wanted, room);
    const sorted = [...placed].sort((a, b) => a - b);
    assert.ok(sorted[0] >= 10 && sorted[sorted.length - 1] <= 100, placed);
    sorted.slice(1).forEach((level, i) => assert.ok(level - sorted[i] >= 15, placed));
  }
  const [last, , first] = spread([98, 97.5, 97], room);
  assert.ok(first < last);
});

test("the pointer reads the nearest x", () => {
  assert.equal(nearestX([0, 1, 2], scales.x, 41), 2);
  assert.equal(nearestX([0, 1, 2], scales.x, -500), 0);
  assert.equal(nearestX([], scales.x, 5), null);
});
