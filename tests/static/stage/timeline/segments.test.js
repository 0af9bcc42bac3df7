import assert from "node:assert/strict";
import { test } from "node:test";
import { segmentOf, segmentsGeometry, stepAt } from "../../../../kvscope/static/stage/timeline/segments.js";

for (const [steps, width] of Object.entries({ 1: 300, 2: 900, 16: 1000, 256: 200 })) {
  const count = Number(steps);
  test(`${count} steps on ${width} pixels: each is hit over its own segment, and all fit`, () => {
    const geometry = segmentsGeometry(count, width);
    assert.ok(geometry.end <= width + 1e-9);
    for (let step = 0; step < count; step++) {
      const { x, width: wide } = segmentOf(geometry, step);
      assert.ok(wide >= 1);
      const middle = x + (geometry.pitch && step ? geometry.pitch : wide) / 2;
      assert.equal(stepAt(geometry, middle), step);
    }
    assert.equal(stepAt(geometry, width + 50), count - 1);
    assert.equal(stepAt(geometry, -5), 0);
  });
}
