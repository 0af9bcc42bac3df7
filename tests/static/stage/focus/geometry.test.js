import assert from "node:assert/strict";
import { test } from "node:test";
import { placeAt } from "../../../../kvscope/static/stage/focus/geometry.js";

const GEOMETRY = { left: 40, pitch: 50, residual: 25, bottom: 300, cell: 10, layers: 20 };
const at = (x, y, count = 3) => placeAt(GEOMETRY, { x, y }, count);

test("a point in a column is a layer of its token, counted from the bottom", () => {
  assert.deepEqual(at(41, 299), { position: 0, layer: 0 });
  assert.deepEqual(at(160, 101), { position: 2, layer: 19 });
});

test("beside, above and below the columns is nothing", () => {
  for (const point of [
    [39, 200],
    [70, 200],
    [41, 99],
    [41, 301],
    [191, 200],
  ])
    assert.equal(at(...point), null, point.join());
});
