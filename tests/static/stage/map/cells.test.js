import assert from "node:assert/strict";
import { test } from "node:test";
import { pixels } from "../../../../static/shared/draw/pixels.js";
import { mapParts, mapSize, paintMapPart } from "../../../../static/stage/map/cells.js";
import { halfOf, mapGeometry, rowOf, stripOf } from "../../../../static/stage/map/geometry.js";
import { mapView } from "../../../../static/stage/map/scene.js";
import { mapShades } from "../../../../static/stage/map/shades.js";
import { madeRun } from "../../support/made-run.js";

const [LAYERS, HEADS, PROMPT, POSITIONS] = [3, 4, 150, 170];
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
  words: Array.from({ length: POSITIONS }, (_, i) => `w${i}`),
  promptLength: PROMPT,
  layers: LAYERS,
  heads: HEADS,
  row: (layer, head, query) => Array.from({ length: query + 1 }, (_, key) => (key * 7 + query + head + layer) % 256),
});

function painted(step, { shades, target, ratio = 1 }) {
  const view = mapView(run, step);
  const geometry = mapGeometry({ width: 420, height: 240, ...view });
  const { width, height } = mapSize({ geometry, ratio });
  const on = target ?? pixels(width, height);
  for (let part = 0; part < mapParts(view); part++)
    paintMapPart(on, view, part, { shades, theme }, { geometry, ratio });
  return { on, view, geometry };
}

const newShades = () => mapShades(run, { residual: RANGE, k: RANGE, v: RANGE });
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
