import assert from "node:assert/strict";
import { test } from "node:test";
import { tallGeometry } from "../../../../../kvscope/static/stage/views/block/draw/tall.js";
import { foldedGeometry, wideGeometry } from "../../../../../kvscope/static/stage/views/block/draw/wide.js";

const dims = {
  ...{ heads: 4, kvHeads: 2, headDim: 16, d: 64, mlp: 32 },
  ...{ gated: true, rotary: true, headNorms: true, postNorms: false },
  experts: { count: 128, chosen: 8, width: 32 },
};

for (const [name, layout, width] of [
  ["wide", wideGeometry, 1100],
  ["folded", foldedGeometry, 800],
  ["tall", tallGeometry, 360],
])
  test(`a ${name} drawing has a line for each chosen expert, inside the drawing and apart from the others`, () => {
    const geometry = layout({ width, height: 500, dims, keys: { first: 0, count: 12, own: 11, centre: 11 } });
    const lines = geometry.boxes.filter(({ tensor }) => tensor === "mlp.hidden");
    assert.deepEqual(
      lines.map(({ part, count }) => [part, count]),
      Array.from({ length: 8 }, (_, rank) => [rank, 32]),
    );
    for (const [at, { y, height, x, width: wide }] of lines.entries()) {
      assert.ok(x + wide <= geometry.width && y + height <= geometry.height, `expert ${at}`);
      if (at) assert.ok(y >= lines[at - 1].y + lines[at - 1].height, `expert ${at}`);
      assert.ok(`expert ${at}` in geometry.captions);
    }
    const router = geometry.boxes.find(({ tensor }) => tensor === "mlp.probabilities");
    assert.equal(router.count, 128);
    assert.ok(router.columns * router.rows >= 128);
  });
