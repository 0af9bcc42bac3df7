import assert from "node:assert/strict";
import { test } from "node:test";
import { planeOf } from "../../../../kvscope/static/engine/answers/plane.js";

const near = (one, other) => assert.ok(Math.abs(one - other) < 1e-9, `${one} is not ${other}`);

test("points of a plane keep their distances, along the axes with most variance", () => {
  const [u, v] = [
    [0.6, 0, 0.8, 0],
    [0, 1, 0, 0],
  ];
  const flat = [
    [5, 1],
    [-3, 2],
    [-1, -2],
    [-1, -1],
  ];
  const rows = flat.map(([x, y]) => Float64Array.from(u, (_, i) => 7 + x * u[i] + y * v[i]));
  const { points, kept } = planeOf(rows);
  near(kept, 1);
  for (let i = 0; i < 4; i++)
    for (let j = 0; j < 4; j++) {
      const distance = ([a, b], [c, d]) => Math.hypot(a - c, b - d);
      near(distance(points[i], points[j]), distance(flat[i], flat[j]));
    }
  const spread = (axis) => points.reduce((sum, point) => sum + point[axis] ** 2, 0);
  assert.ok(spread(0) > spread(1));
  for (const axis of [0, 1]) {
    const along = points.map((point) => point[axis]);
    assert.ok(Math.max(...along) === Math.max(...along.map(Math.abs)));
  }
});

test("equal rows are all at the centre", () => {
  const row = Float32Array.of(1, 2, 3);
  assert.deepEqual(planeOf([row, row, row]), {
    points: [
      [0, 0],
      [0, 0],
      [0, 0],
    ],
    kept: 1,
  });
});

test("what is outside the plane is not in its share of the variance", () => {
  const rows = [0, 1, 2].flatMap((axis) =>
    [1, -1].map((sign) => Float32Array.from([3, 2, 1], (size, i) => (i === axis ? sign * size : 0))),
  );
  near(planeOf(rows).kept, 13 / 14);
});
