import assert from "node:assert/strict";
import { test } from "node:test";
import { pixels } from "../../../../../kvscope/static/stage/draw/pixels.js";
import {
  matrixParts,
  matrixSize,
  paintMatrixPart,
} from "../../../../../kvscope/static/stage/views/head/matrix-cells.js";
import {
  KEY_LABEL_PX,
  keyBox,
  matrixGeometry,
  queryBox,
  topOfKey,
} from "../../../../../kvscope/static/stage/views/head/matrix-geometry.js";

const MARGIN = { left: 10, top: 7, right: 3, bottom: 2 };
/** Colour n + 1 is shade n, so that no cell has the colour of what is not painted. */
const TRACK = 500;
/** Added for rows of this step. */
const NOW = 1000;
const coloursFrom = (first) => ({ packed: Uint32Array.from({ length: 256 }, (_, shade) => first + shade + 1) });
const THEME = { track: TRACK, attention: coloursFrom(0), attentionNow: coloursFrom(NOW) };

const anyShade = (query, key) => (query * 7 + key * 3) % 256;

/** The matrix as a canvas shows it that gets, part by part, the pixel rows that the part says have changed. */
function painted({ tokens = 40, promptLength, width = 600, height = 600, ratio = 1, shade, firstKey = () => 0 }) {
  const [newest, all] = [tokens - 1, [0, tokens - 1]];
  const geometry = matrixGeometry({ width, height, promptLength, newest, queries: all, keys: all, margin: MARGIN });
  const size = { geometry, ratio };
  const { width: wide, height: high } = matrixSize(size);
  const target = pixels(wide, high);
  target.data.fill(999);
  const row = (query) => shade && Uint8Array.from({ length: query + 1 }, (_, key) => shade(query, key));
  const canvas = new Uint32Array(wide * high);
  for (let part = 0; part < matrixParts(size); part++) {
    const { y0, y1 } = paintMatrixPart(target, { row, firstKey }, part, { theme: THEME }, size);
    canvas.set(target.data.subarray(y0 * wide, y1 * wide), y0 * wide);
  }
  return {
    geometry,
    parts: matrixParts(size),
    at: (x, y) => canvas[Math.floor(y * ratio) * wide + Math.floor(x * ratio)],
  };
}

test("every cell has the colour of its weight and of its step, in every band, and what is masked has none", () => {
  for (const { promptLength, ratio } of [
    { promptLength: 40 },
    { promptLength: 33, ratio: 2 },
    { promptLength: 39, ratio: 1.5 },
  ]) {
    const { geometry, parts, at } = painted({ promptLength, ratio, shade: anyShade });
    assert.ok(parts > 4);
    for (let query = 0; query < 40; query++) {
      for (let key = 0; key < 40; key++) {
        const [row, column] = [queryBox(geometry, query), keyBox(geometry, key)];
        const colour = at((column.x0 + column.x1) / 2, (row.y0 + row.y1) / 2);
        const weight = anyShade(query, key) + 1 + (promptLength === 40 || query === 39 ? NOW : 0);
        assert.equal(colour, key > query ? 0 : weight, `query ${query}, key ${key}, ${ratio}×`);
      }
    }
  }
});

test("keys before a sliding window have no cell, in rows of prefill and in the newest", () => {
  const firstKey = (query) => Math.max(0, query - 9);
  const { geometry, at } = painted({ promptLength: 33, shade: () => 77, firstKey });
  for (const query of [5, 20, 32, 36, 39]) {
    const row = queryBox(geometry, query);
    for (let key = 0; key <= query; key++) {
      const column = keyBox(geometry, key);
      const colour = at((column.x0 + column.x1) / 2, (row.y0 + row.y1) / 2);
      assert.equal(colour !== 0, key >= firstKey(query), `query ${query}, key ${key}`);
    }
  }
});

test("the newest row is whole wherever the bands end", () => {
  for (let height = 300; height < 300 + 64; height += 4) {
    const { geometry, at } = painted({ promptLength: 30, height, shade: anyShade });
    const { y0, y1 } = queryBox(geometry, 39);
    for (let y = Math.ceil(y0); y < Math.floor(y1); y++)
      assert.equal(at(MARGIN.left + 1, y), anyShade(39, 0) + 1 + NOW, `${height}, ${y}`);
  }
});

test("a lone strong weight is seen where several rows share a pixel, on both sides of a band's edge", () => {
  const tokens = 400;
  for (let strong = 1; strong < tokens; strong += 1) {
    const shade = (query, key) => (query === strong && key === 0 ? 200 : 0);
    const { geometry, at } = painted({ tokens, promptLength: tokens, width: 230, height: 230, shade });
    assert.equal(at(MARGIN.left + 0.1, Math.round(queryBox(geometry, strong).y0)), 201 + NOW, `query ${strong}`);
  }
});

test("before there are weights, what may be looked at is a place without a shade", () => {
  for (const tokens of [1, 12, 40, 400]) {
    const { geometry, at } = painted({ tokens, promptLength: tokens, width: 300, height: 300, shade: null });
    for (let query = 0; query < tokens; query++) {
      const row = Math.round(queryBox(geometry, query).y0);
      assert.equal(at(geometry.left + 0.1, row), TRACK, `query ${query} of ${tokens}`);
      const masked = Math.ceil(geometry.left + (query + 2) * geometry.cell) + 1;
      if (masked < geometry.right) assert.equal(at(masked, row), 0, `after query ${query} of ${tokens}`);
    }
  }
});

test("the matrix ends before what stands beside it, unless its masked half has room for that", () => {
  const all = [0, 13];
  const shape = { width: 700, height: 440, promptLength: 11, newest: 13, queries: all, keys: all };
  const margin = { left: 84, top: 40, right: KEY_LABEL_PX, bottom: 4 };
  const reach = ({ right }) => right + KEY_LABEL_PX;
  const free = matrixGeometry({ ...shape, margin });
  assert.ok(free.bottom <= 440 && free.cell > 24);
  const column = { x0: 460, y1: 440 };
  assert.ok(reach(free) > 460 - 50);
  assert.ok(reach(matrixGeometry({ ...shape, height: 640, margin, taken: [column] })) <= 460);
  const corner = { x0: 460, y1: 158 };
  assert.equal(matrixGeometry({ ...shape, margin, taken: [corner] }).cell, free.cell);
  const part = { ...shape, queries: [5, 13], keys: [0, 8], height: 640 };
  assert.ok(reach(matrixGeometry({ ...part, margin, taken: [corner] })) <= 460, "a part of it is not masked there");
});

test("a key is named over its own topmost cell in sight", () => {
  const geometry = matrixGeometry({
    ...{ width: 600, height: 600, promptLength: 11, newest: 13, queries: [0, 13], keys: [0, 13], margin: MARGIN },
  });
  for (let key = 0; key < 14; key++) assert.equal(topOfKey(geometry, key), queryBox(geometry, key).y0, `key ${key}`);
  const part = matrixGeometry({
    ...{ width: 600, height: 600, promptLength: 40, newest: 39, queries: [20, 39], keys: [10, 33], margin: MARGIN },
  });
  assert.equal(topOfKey(part, 12), part.top);
  assert.equal(topOfKey(part, 25), queryBox(part, 25).y0);
});

test("a small picture has all rows alike and nothing but cells", () => {
  const shape = { width: 40, height: 40, promptLength: 5, newest: 9, queries: [0, 9], keys: [0, 9] };
  const small = matrixGeometry({ ...shape, margin: { left: 0, top: 0, right: 0, bottom: 0 }, plain: true });
  for (let query = 0; query < 10; query++)
    assert.deepEqual(queryBox(small, query), { y0: query * 4, y1: query * 4 + 4 }, `query ${query}`);
});
