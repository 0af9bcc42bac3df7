import assert from "node:assert/strict";
import { test } from "node:test";
import { logScale, shade } from "../../../../kvscope/static/shared/draw/scales.js";
import { mapShades } from "../../../../kvscope/static/stage/map/shades.js";

const RANGES = { residual: { low: 1, high: 100 }, k: { low: 2, high: 20 }, v: { low: 0.5, high: 5 } };

function run() {
  return {
    layers: 2,
    kvHeads: 3,
    asked: 0,
    residualNorm(layer, position) {
      this.asked += 1;
      return 1 + layer * 10 + position;
    },
    kNorm: (layer, head, position) => 2 + layer + head + position / 10,
    vNorm: (_layer, head, position) => 0.5 + head + position / 100,
  };
}

test("every length has the shade its scale gives it, heads of one position together", () => {
  const made = run();
  const shades = mapShades(made, RANGES);
  assert.deepEqual(
    [...shades.residual(1, 3)],
    [11, 12, 13].map((norm) => shade(logScale(RANGES.residual)(norm))),
  );
  const k = shades.k(1, 2);
  assert.equal(k.length, 6);
  for (let position = 0; position < 2; position++) {
    for (let head = 0; head < 3; head++)
      assert.equal(k[position * 3 + head], shade(logScale(RANGES.k)(made.kNorm(1, head, position))));
  }
});

test("a run that grows past the room keeps the shades it had, and none is worked out twice", () => {
  const made = run();
  const shades = mapShades(made, RANGES);
  const early = [...shades.residual(0, 50)];
  const late = shades.residual(0, 300);
  assert.equal(late.length, 300);
  assert.deepEqual([...late.subarray(0, 50)], early);
  assert.equal(shades.residual(0, 20).length, 20);
  assert.equal(made.asked, 300);
});
