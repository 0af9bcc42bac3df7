import assert from "node:assert/strict";
import { test } from "node:test";
import { tilesOf } from "../../../../kvscope/static/engine/log/tiles.js";

const MOST = 65536 - 2048;

/** Shapes whose parts are whole layers, rows of a layer, and heads of a row. */
const CASES = [
  { shape: { layers: 30, heads: 9, kv_heads: 3 }, first: 0, queries: 34 },
  { shape: { layers: 30, heads: 9, kv_heads: 3 }, first: 700, queries: 64 },
  { shape: { layers: 2, heads: 96, kv_heads: 8 }, first: 2000, queries: 3 },
];

for (const { shape, first, queries } of CASES) {
  test(`parts of ${queries} rows after ${first} cover each cell once and fit a frame`, () => {
    const seen = new Set();
    for (const { layer, head, query } of tilesOf(shape, first, queries)) {
      const cells = (layer.end - layer.start) * (head.end - head.start) * (query.end - query.start);
      const norms = head.start === 0 ? 2 * (shape.heads + 2 * shape.kv_heads + 1) * (query.end - query.start) : 0;
      assert.ok(cells * (first + query.end) + norms * (layer.end - layer.start) <= MOST);
      for (let l = layer.start; l < layer.end; l++)
        for (let h = head.start; h < head.end; h++)
          for (let q = query.start; q < query.end; q++) {
            const cell = `${l} ${h} ${q}`;
            assert.ok(!seen.has(cell));
            seen.add(cell);
          }
    }
    assert.equal(seen.size, shape.layers * shape.heads * queries);
  });
}
