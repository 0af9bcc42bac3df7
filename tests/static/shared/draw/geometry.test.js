import assert from "node:assert/strict";
import { test } from "node:test";
import { logScale, robustRange, shade } from "../../../../kvscope/static/shared/draw/scales.js";
import { labelled } from "../../../../kvscope/static/stage/draw/labels.js";
import { cellsAt, gatherOnce, paintLane, pixels } from "../../../../kvscope/static/stage/draw/pixels.js";
import { signedShade } from "../../../../kvscope/static/stage/draw/tiles.js";
import { columnOf, hitMap, mapGeometry, rowOf, stripOf } from "../../../../kvscope/static/stage/map/geometry.js";
import {
  hitMatrix,
  hitRowLabel,
  keyBox,
  matrixGeometry,
  queryBox,
  windowAround,
} from "../../../../kvscope/static/stage/views/head/matrix-geometry.js";

const SIZE = { width: 870, height: 540 };
const MODEL = { layers: 30, heads: 9, kvHeads: 3, columns: 16 };
const MAP = mapGeometry({ ...SIZE, ...MODEL });
const DECODE = { positions: 14, firstQuery: 13, prefill: false };
const middle = (a, b) => (a + b) / 2;

test("every cell of the map is hit at the place where it is drawn", () => {
  for (let layer = 0; layer < 30; layer++) {
    const row = rowOf(MAP, layer);
    const y = middle(row.y0, row.y1);
    for (let position = 0; position < 14; position++) {
      const here = { layer, positions: [position, position] };
      const residual = columnOf(MAP, "residual", position);
      assert.deepEqual(hitMap(MAP, DECODE, middle(residual.x0, residual.x1), y), { group: "residual", ...here });
      const shelf = columnOf(MAP, "cache", position);
      for (let kvHead = 0; kvHead < 3; kvHead++) {
        const x = shelf.x0 + ((kvHead + 0.5) * (shelf.x1 - shelf.x0)) / 3;
        const at = (where) => hitMap(MAP, DECODE, x, where);
        assert.deepEqual(at(row.y0 + 1), { group: "cache", kind: "K", kvHead, ...here });
        assert.equal(at(row.y1 - 1).kind, "V");
      }
    }
    for (let head = 0; head < 9; head++) {
      const strip = stripOf(MAP, head);
      const hit = hitMap(MAP, DECODE, strip.x0 + ((strip.x1 - strip.x0) * 3.5) / 14, y);
      assert.equal(hit.head, head);
      assert.deepEqual(hit.queries, [13, 13]);
      assert.ok(hit.keys[0] <= 3 && hit.keys[1] >= 3);
    }
  }
});

test("no cell is hit outside the cells", () => {
  const { residual, top, bottom } = MAP;
  assert.equal(hitMap(MAP, DECODE, residual.x0 + 2, top - 1), null);
  assert.equal(hitMap(MAP, DECODE, residual.x0 + 2, bottom + 1), null);
  assert.equal(hitMap(MAP, DECODE, residual.x0 - 1, top + 5), null);
  assert.equal(hitMap(MAP, DECODE, residual.x1 - 1, top + 5), null, "a column without a token yet");
});

test("during prefill a strip is a triangle with a query for every height", () => {
  const row = rowOf(MAP, 4);
  const strip = stripOf(MAP, 2);
  const hit = (y) => hitMap(MAP, { positions: 11, firstQuery: 0, prefill: true }, strip.x0 + 1, y);
  assert.equal(hit(row.y0 + 0.01).queries[0], 0);
  assert.equal(hit(row.y1 - 0.01).queries[1], 10);
});

test("at 768 positions a pixel has several cells, and every cell can be hit", () => {
  const geometry = mapGeometry({ ...SIZE, ...MODEL, columns: 768 });
  const seen = new Set();
  for (let x = Math.ceil(geometry.residual.x0); x < geometry.residual.x1; x++) {
    const { positions } = hitMap(geometry, { positions: 768, firstQuery: 767, prefill: false }, x, geometry.top + 5);
    for (let position = positions[0]; position <= positions[1]; position++) seen.add(position);
  }
  assert.ok(seen.size >= 764, `${seen.size} of 768`);
});

test("one layer, head and token fit, also at 390 px", () => {
  const tiny = mapGeometry({ ...SIZE, layers: 1, heads: 1, kvHeads: 1, columns: 16 });
  assert.ok(tiny.rowPitch <= 40);
  const phone = mapGeometry({ width: 362, height: 420, ...MODEL });
  assert.ok(phone.cache.x1 <= 362);
  assert.ok(phone.compact);
});

/** Each shade is its own colour. */
const PLAIN = Uint32Array.from({ length: 256 }, (_, shade) => shade);

test("cells narrower than a pixel show the strongest of them", () => {
  const target = pixels(10, 1);
  const shades = new Uint8Array(100);
  shades[57] = 200;
  paintLane(target, { x0: 0, x1: 10, y0: 0, y1: 1, capacity: 100, shades, colours: PLAIN });
  assert.deepEqual([...target.data], [0, 0, 0, 0, 0, 200, 0, 0, 0, 0]);
});

test("every cell of a line paints at least one pixel, and missing cells paint none", () => {
  const target = pixels(30, 2);
  const colours = new Uint32Array(256).fill(7);
  paintLane(target, { x0: 0, x1: 30, y0: 0, y1: 2, capacity: 20, shades: new Uint8Array(10), colours });
  assert.ok(target.data.slice(0, 15).every((pixel) => pixel === 7));
  assert.ok(target.data.slice(15, 30).every((pixel) => pixel === 0));
});

test("a pixel range maps to one cell when cells are wide, to all when narrow, and to none after the last", () => {
  assert.deepEqual(cellsAt(25, 0, 100, 10, 10), [2, 2]);
  assert.deepEqual(cellsAt(2, 0, 10, 40, 40), [8, 11]);
  assert.equal(cellsAt(55, 0, 100, 10, 5), null);
  assert.equal(cellsAt(100, 0, 100, 10, 10), null);
  assert.equal(cellsAt(-1, 0, 100, 10, 10), null);
});

const MARGIN = { left: 70, top: 50, right: 20, bottom: 2 };
const matrix = (promptLength, newest, extra = {}) => {
  const all = [0, newest];
  return matrixGeometry({
    ...{ width: 400, height: 340, promptLength, newest, queries: all, keys: all, margin: MARGIN },
    ...extra,
  });
};

test("every cell of the matrix is hit where it is drawn, above and below the separating line", () => {
  for (const [promptLength, newest] of [
    [11, 10],
    [11, 11],
    [11, 20],
    [1, 0],
    [1, 3],
  ]) {
    const geometry = matrix(promptLength, newest);
    for (let query = 0; query <= newest; query++) {
      const row = queryBox(geometry, query);
      for (let key = 0; key <= newest; key++) {
        const column = keyBox(geometry, key);
        const hit = hitMatrix(geometry, middle(column.x0, column.x1), middle(row.y0, row.y1));
        const here = { queries: [query, query], keys: [key, key], masked: key > query };
        assert.deepEqual(hit, here, `${promptLength}/${newest}: ${query}·${key}`);
      }
    }
  }
});

test("a row's name, to the left of its cells, stands for all keys that it can read", () => {
  const geometry = matrix(11, 14);
  for (let query = 0; query <= 14; query++) {
    const { y0, y1 } = queryBox(geometry, query);
    const hit = hitRowLabel(geometry, geometry.left - 20, middle(y0, y1));
    assert.deepEqual([...hit.queries, ...hit.keys], [query, query, 0, query]);
    assert.equal(hitRowLabel(geometry, geometry.left + 1, middle(y0, y1)), null);
  }
  assert.equal(hitRowLabel(geometry, geometry.left - 20, geometry.lineY), null);
  assert.equal(hitRowLabel(geometry, geometry.left - 20, geometry.bottom + 5), null);
});

test("the matrix fits its box, the newest decode row is the tallest, and the line separates prompt and decode rows", () => {
  for (const newest of [10, 11, 40, 767]) {
    const geometry = matrix(11, newest);
    assert.ok(geometry.bottom <= 340.001 && geometry.right <= 400.001, `${newest}`);
    if (newest < 11) continue;
    const tall = ({ y0, y1 }) => y1 - y0;
    assert.ok(tall(queryBox(geometry, newest)) > tall(queryBox(geometry, 3)));
    assert.ok(queryBox(geometry, 10).y1 <= geometry.lineY && geometry.lineY <= queryBox(geometry, 11).y0);
    assert.equal(hitMatrix(geometry, geometry.left + 1, geometry.lineY), null);
  }
});

test("a window contains the cells around a place and the newest row", () => {
  assert.deepEqual(windowAround(300, 24, 767), [288, 311]);
  assert.deepEqual(windowAround(2, 24, 767), [0, 23]);
  assert.deepEqual(windowAround(766, 24, 767), [744, 767]);
  assert.deepEqual(windowAround(5, 24, 10), [0, 10]);
  const geometry = matrix(500, 600, { queries: [288, 311], keys: [100, 123] });
  assert.equal(queryBox(geometry, 287), null);
  assert.equal(keyBox(geometry, 124), null);
  const newest = queryBox(geometry, 600);
  assert.deepEqual(hitMatrix(geometry, geometry.left + 1, middle(newest.y0, newest.y1)).queries, [600, 600]);
});

test("of two required labels without space for both, the later one is shown", () => {
  const named = (always) =>
    labelled({ count: 40, pitch: 3, leastPx: 10, always }).flatMap((label) => (label.named ? [label.position] : []));
  assert.deepEqual(named([39, 37]), [37]);
  assert.deepEqual(named([37, 39]), [39]);
  assert.deepEqual(named([39, 35]), [35, 39]);
  assert.deepEqual(named([39, 39]), [39]);
});

test("labels do not overlap, required labels are shown, and too many tokens are replaced by positions", () => {
  const wide = labelled({ count: 14, pitch: 12, leastPx: 10, always: [13] });
  assert.equal(wide.length, 14);
  const thin = labelled({ count: 32, pitch: 6, leastPx: 10, always: [31, 4, undefined, null, 99] });
  const places = thin.map(({ position }) => position);
  assert.ok(places.includes(31) && places.includes(4) && !places.includes(99));
  for (let i = 1; i < places.length; i++) assert.ok((places[i] - places[i - 1]) * 6 >= 10);
  const dense = labelled({ first: 100, count: 500, pitch: 0.5, leastPx: 10, always: [333] });
  const shown = dense.filter(({ named }) => named);
  assert.deepEqual([shown.length, shown[0].position], [1, 333]);
  assert.ok(dense.every(({ position, named }) => named || position % 50 === 0));
});

test("a few extreme lengths do not compress the scale", () => {
  const values = [...Array.from({ length: 95 }, (_, i) => 20 + i), 20000, 21000, 22000, 23000, 24000];
  const { low, high } = robustRange(values);
  assert.ok(high < 200, `${high}`);
  const scale = logScale({ low, high });
  assert.equal(scale(24000), 1);
  assert.equal(scale(0), 0);
  assert.ok(scale(60) > 0.3 && scale(60) < 0.8);
  assert.deepEqual(robustRange([]), { low: 1, high: 10 });
  const equal = robustRange([5, 5, 5]);
  assert.ok(equal.high > equal.low);
});

test("signed shades are centred on zero and inside the ramp", () => {
  assert.equal(signedShade(0, 3), 128);
  assert.equal(signedShade(3, 3), 255);
  assert.equal(signedShade(-3, 3), 0);
  assert.equal(signedShade(1, 0), 128);
  assert.equal(shade(1), 255);
});

test("cells collected step by step equal cells collected at once", () => {
  const shades = Uint8Array.from({ length: 400 }, (_, cell) => (cell * 37) % 251);
  const gather = gatherOnce();
  const lines = [90, 91, 400, 17].map((count) => ({ count, x1: 61 }));
  for (const { count, x1 } of [...lines, { count: 17, x1: 80 }, { count: 300, x1: 80 }]) {
    const lane = { x0: 3, x1, y0: 0, y1: 2, capacity: 400, shades: shades.subarray(0, count), colours: PLAIN };
    const [once, anew] = [pixels(90, 2), pixels(90, 2)];
    paintLane(once, { ...lane, gather });
    paintLane(anew, lane);
    assert.deepEqual(once, anew, `${count} cells up to ${x1}`);
  }
});
