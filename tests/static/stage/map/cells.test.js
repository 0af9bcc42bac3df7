import assert from "node:assert/strict";
import { test } from "node:test";
import { pixels } from "../../../../kvscope/static/stage/draw/pixels.js";
import { mapParts, mapSize, paintMapPart } from "../../../../kvscope/static/stage/map/cells.js";
import { halfOf, mapGeometry, rowOf, stripOf } from "../../../../kvscope/static/stage/map/geometry.js";
import { mapView } from "../../../../kvscope/static/stage/map/scene.js";
import { mapShades } from "../../../../kvscope/static/stage/map/shades.js";
import { madeRun } from "../../support/made-run.js";

const [LAYERS, HEADS, PROMPT, POSITIONS] = [3, 4, 150, 170];
const WORDS = Array.from({ length: POSITIONS }, (_, i) => `w${i}`);
const RANGE = { low: 1, high: 300 };
/** A colour by itself for every shade of every kind of cell. */
const kindOf = (kind) => ({ packed: Uint32Array.from({ length: 256 }, (_, shade) => 1000 * kind + shade) });
const [ROW, K, V, NEW, WEIGHT, TRACK, RESERVED] = [1, 2, 3, 4, 5, 6, 7];
const theme = {
  hollow: 1000 * ROW,
  cachedK: kindOf(K),
  cachedV: kindOf(V),
  computedCell: kindOf(NEW),
  attentionNow: kindOf(WEIGHT),
  track: 1000 * TRACK,
  reserved: 1000 * RESERVED,
};
const run = madeRun({
  words: WORDS,
  promptLength: PROMPT,
  layers: LAYERS,
  heads: HEADS,
  row: (layer, head, query) => Array.from({ length: query + 1 }, (_, key) => (key * 7 + query + head + layer) % 256),
});

function painted(step, { shades, target, ratio = 1, of = run, wide = 420 }) {
  const view = mapView(of, step);
  const geometry = mapGeometry({ width: wide, height: 240, ...view });
  const { width, height } = mapSize({ geometry, ratio });
  const on = target ?? pixels(width, height);
  for (let part = 0; part < mapParts(view); part++)
    paintMapPart(on, view, part, { shades, theme }, { geometry, ratio });
  return { on, view, geometry };
}

const newShades = (of = run) => mapShades(of, { residual: RANGE, k: RANGE, v: RANGE });
const kindsIn = ({ data, width }, { x0, x1 }, y) =>
  [...data.subarray(y * width + Math.round(x0), y * width + Math.round(x1))].map((colour) => Math.floor(colour / 1000));

test("a decode step has its row, its weights and K over V, from the top of a layer's row to its end", () => {
  const { on, view, geometry } = painted(4, { shades: newShades() });
  for (let layer = 0; layer < LAYERS; layer++) {
    const row = rowOf(geometry, layer);
    const [top, half, bottom] = [Math.round(row.y0), Math.round(halfOf(row)), Math.round(row.y1)];
    for (let y = top; y < bottom; y++) {
      const residual = kindsIn(on, geometry.residual, y);
      assert.equal(residual[0], ROW);
      assert.ok(residual.includes(NEW));
      assert.equal(residual.at(-1), TRACK);
      for (let head = 0; head < HEADS; head++) {
        const weights = new Set(kindsIn(on, stripOf(geometry, head), y));
        assert.deepEqual([...weights], [WEIGHT]);
      }
      const shelf = kindsIn(on, geometry.cache, y);
      assert.equal(shelf[0], y < half ? K : V);
      assert.ok(shelf.includes(NEW));
      assert.ok(shelf.includes(RESERVED) === view.reserved > view.positions);
    }
    if (layer) assert.ok(kindsIn(on, { x0: 0, x1: geometry.width }, bottom).every((kind) => kind === 0));
  }
});

test("a local layer has outlines where it dropped K and V, and no weights before its window; a global one has all", () => {
  const local = madeRun({
    words: WORDS,
    promptLength: PROMPT,
    layers: 2,
    heads: HEADS,
    windows: [40, null],
  });
  const { on, view, geometry } = painted(4, { shades: newShades(local), of: local, wide: 1200 });
  const middle = (layer) => Math.round((rowOf(geometry, layer).y0 + halfOf(rowOf(geometry, layer))) / 2);
  // Positions 0 to 153 are in the cache; the query at 153 reads 114 to 153, and blocks have 4 positions.
  const pitch = (geometry.cache.x1 - geometry.cache.x0) / view.columns;
  const [before, held] = [111, 112].map((position) => Math.round(geometry.cache.x0 + (position + 0.5) * pitch));
  const kind = (layer, x) => Math.floor(on.data[middle(layer) * on.width + x] / 1000);
  assert.deepEqual([kind(0, before), kind(0, held), kind(1, before), kind(1, held)], [0, K, K, K]);
  const strip = stripOf(geometry, 1);
  const each = (strip.x1 - strip.x0) / view.positions;
  const [masked, read] = [112, 116].map((key) => Math.round(strip.x0 + key * each));
  assert.deepEqual([kind(0, masked), kind(0, read), kind(1, masked), kind(1, read)], [0, WEIGHT, WEIGHT, WEIGHT]);
});

for (const ratio of [1, 1.25, 2]) {
  test(`a step painted over others is what it is on an empty image, at ${ratio} pixels per pixel`, () => {
    const shades = newShades();
    const walked = painted(0, { shades, ratio }).on;
    for (const step of [1, 15, 6, 20, 0, 3, 2]) {
      painted(step, { shades, target: walked, ratio });
      assert.deepEqual(walked, painted(step, { shades: newShades(), ratio }).on, `step ${step}`);
    }
  });
}
