import assert from "node:assert/strict";
import { test } from "node:test";
import { mapGeometry, rowOf, stripOf } from "../../../static/map/geometry.js";
import { drawQueries, queriesShown } from "../../../static/map/queries.js";

const LAYERS = 6;

test("Q is there while its layer runs, fades behind it, and is gone when the step rests", () => {
  const shown = queriesShown({ reveal: 3.4, layerStop: null, layers: LAYERS });
  assert.deepEqual(
    shown.map(({ layer }) => layer),
    [3, 2, 1, 0],
  );
  assert.equal(shown[0].strength, 1);
  for (let age = 1; age < shown.length; age++) assert.ok(shown[age].strength < shown[age - 1].strength);
  assert.deepEqual(queriesShown({ reveal: LAYERS, layerStop: null, layers: LAYERS }), []);
  assert.deepEqual(queriesShown({ reveal: 0, layerStop: null, layers: LAYERS }), []);
});

test("a walk shows the Q of the layer it stands at and no other", () => {
  assert.deepEqual(queriesShown({ reveal: 3, layerStop: 3, layers: LAYERS }), [{ layer: 2, strength: 1 }]);
  assert.deepEqual(queriesShown({ reveal: LAYERS, layerStop: LAYERS, layers: LAYERS }), [
    { layer: LAYERS - 1, strength: 1 },
  ]);
});

test("one cell per head, inside its strip, coloured by the length of its q", () => {
  const geometry = mapGeometry({ width: 800, height: 500, layers: LAYERS, heads: 3, kvHeads: 1, columns: 16 });
  const theme = { computedCell: { css: Array.from({ length: 256 }, (_, i) => `amber ${i}`) } };
  const cells = [];
  const context = {
    save() {},
    restore() {},
    fillRect(x, y, width, height) {
      cells.push({ x, y, width, height, colour: this.fillStyle });
    },
  };
  const view = { heads: 3, q: (_layer, head) => [1, 3, 10][head] };
  drawQueries(context, [{ layer: 2, strength: 1 }], { view, range: { low: 1, high: 10 }, theme }, { geometry });
  const { y0, y1 } = rowOf(geometry, 2);
  assert.equal(cells.length, 3);
  cells.forEach((cell, head) => {
    const strip = stripOf(geometry, head);
    assert.ok(cell.x === strip.x0 && cell.x + cell.width <= strip.x1 + 1e-9);
    assert.ok(cell.y === y0 && cell.y + cell.height <= y1);
  });
  assert.equal(cells[0].colour, theme.computedCell.css[0]);
  assert.equal(cells[2].colour, theme.computedCell.css[255]);
  assert.ok(new Set(cells.map(({ colour }) => colour)).size === 3);
});
