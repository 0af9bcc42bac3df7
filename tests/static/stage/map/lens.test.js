import assert from "node:assert/strict";
import { test } from "node:test";
import { weightOf } from "../../../../kvscope/static/shared/log/companding.js";
import { pixels } from "../../../../kvscope/static/stage/draw/pixels.js";
import { columnOf, mapGeometry, rowOf } from "../../../../kvscope/static/stage/map/geometry.js";
import { STRONGEST, threadsOf } from "../../../../kvscope/static/stage/map/lens.js";
import { lensParts, lensSize, paintLensPart } from "../../../../kvscope/static/stage/map/lens-cells.js";
import { hitLens, isInLens, lensGeometry, middleOf } from "../../../../kvscope/static/stage/map/lens-geometry.js";
import { isVisible, legsAt } from "../../../../kvscope/static/stage/map/lens-way.js";
import { mapView } from "../../../../kvscope/static/stage/map/scene.js";
import { mapShades } from "../../../../kvscope/static/stage/map/shades.js";
import { madeRun } from "../../support/made-run.js";

const MODEL = { layers: 30, heads: 9, kvHeads: 3, columns: 16 };
const DECODE = { positions: 14, firstQuery: 13, prefill: false };
const PREFILL = { positions: 11, firstQuery: 0, prefill: true };
const SCREENS = [
  { width: 870, height: 540 },
  { width: 362, height: 420 },
  { width: 300, height: 360 },
];
const middle = ({ x0, x1 }) => (x0 + x1) / 2;

test("the card stands over its own row, inside the rows of the map, and leaves half of them in sight", () => {
  for (const screen of SCREENS) {
    const geometry = mapGeometry({ ...screen, ...MODEL });
    for (let layer = 0; layer < MODEL.layers; layer++) {
      const { card, inside } = lensGeometry(geometry, DECODE, layer);
      const row = rowOf(geometry, layer);
      assert.ok(card.y0 <= row.y0 && card.y1 >= row.y1, `layer ${layer}`);
      assert.ok(card.y0 >= geometry.top - 4 && card.y1 <= geometry.bottom + 4);
      assert.ok(card.x0 >= 0 && card.x1 <= geometry.width);
      assert.ok(inside.y0 > card.y0 && inside.y1 < card.y1);
      assert.ok(card.y1 - card.y0 <= (geometry.bottom - geometry.top) / 2);
    }
  }
});

test("every cell of the lens is hit where it is drawn, and nothing between and beside them", () => {
  for (const screen of SCREENS) {
    const geometry = mapGeometry({ ...screen, ...MODEL });
    const lens = lensGeometry(geometry, DECODE, 13);
    const at = (x, y) => hitLens(lens, geometry, DECODE, x, y);
    const y = middleOf(lens.inside);
    for (let position = 0; position < 14; position++) {
      const here = { layer: 13, positions: [position, position] };
      assert.deepEqual(at(middle(columnOf(geometry, "residual", position)), y), { group: "residual", ...here });
      for (let kvHead = 0; kvHead < 3; kvHead++) {
        for (const kind of ["K", "V"]) {
          const hit = at(middle(columnOf(geometry, "cache", position)), middleOf(lens.laneOf(kvHead, kind)));
          assert.deepEqual(hit, { group: "cache", kind, kvHead, ...here });
        }
      }
    }
    for (let head = 0; head < 9; head++) {
      const strip = lens.stripOf(head);
      const hit = at(strip.x0 + ((strip.x1 - strip.x0) * 3.5) / 14, middleOf(strip));
      assert.equal(hit.head, head);
      assert.ok(hit.keys[0] <= 3 && hit.keys[1] >= 3);
      assert.deepEqual(hit.queries, [13, 13]);
    }
    assert.equal(at(lens.tick, y), null);
    assert.equal(at((lens.weights.x1 + lens.shelf.x0) / 2, y), null);
    assert.ok(isInLens(lens, lens.tick, y), "what is under the card is not meant");
    assert.equal(at(middle(columnOf(geometry, "residual", 2)), lens.card.y0 + 2), null);
  }
});

test("in prefill a head's line is a triangle with a query for every height", () => {
  const geometry = mapGeometry({ ...SCREENS[0], ...MODEL });
  const lens = lensGeometry(geometry, PREFILL, 4);
  const strip = lens.stripOf(2);
  const at = (y) => hitLens(lens, geometry, PREFILL, strip.x0 + 1, y).queries;
  assert.equal(at(strip.y0 + 0.01)[0], 0);
  assert.equal(at(strip.y1 - 0.01)[1], 10);
});

test("the legs of the way come one after another, each whole before the lens closes, all while it stands", () => {
  const order = ["opened", "queried", "weighed", "read", "added", "left"];
  for (let part = 0; part <= 1; part += 0.01) {
    const legs = legsAt({ part, stands: false });
    for (let leg = 1; leg < order.length; leg++) assert.ok(legs[order[leg]] <= legs[order[leg - 1]]);
    if (legs.left < 1 && legs.opened === 1) assert.equal(legs.open, 1);
  }
  assert.equal(legsAt({ part: 0, stands: false }).open, 0);
  assert.equal(legsAt({ part: 1, stands: false }).open, 0);
  const standing = legsAt({ part: 1, stands: true });
  assert.ok(Object.values(standing).every((done) => done === 1));
});

test("cells that the layer has not computed cannot be hit, cached cells can", () => {
  const early = legsAt({ part: 0.2, stands: false });
  assert.equal(isVisible({ group: "attention" }, DECODE, early), false);
  assert.equal(isVisible({ group: "cache", positions: [13, 13] }, DECODE, early), false);
  assert.equal(isVisible({ group: "cache", positions: [12, 12] }, DECODE, early), true);
  const late = legsAt({ part: 0.93, stands: false });
  for (const group of ["attention", "residual", "cache"])
    assert.equal(isVisible({ group, positions: [13, 13] }, DECODE, late), true);
});

const codes = (layer, head, query) =>
  Array.from({ length: query + 1 }, (_, key) => (key * 31 + head * 57 + layer * 13) % 256);
const run = madeRun({
  words: Array.from({ length: 60 }, (_, i) => `w${i}`),
  promptLength: 50,
  layers: 3,
  heads: 4,
  kvHeads: 2,
  row: codes,
});

test("a thread per key with the weight of the log, from the head's own KV head, new only for this step's keys", () => {
  const { threads, most } = threadsOf(run, { layer: 1, query: 52, firstQuery: 52, pitch: 6 });
  assert.equal(most, null);
  for (let head = 0; head < 4; head++) {
    const own = threads.filter((thread) => thread.head === head);
    const worth = codes(1, head, 52).filter((code) => weightOf(code) >= 0.004);
    assert.equal(own.length, worth.length);
    for (const { key, weight, kvHead, isNew } of own) {
      assert.equal(weight, run.weight(1, head, 52, key));
      assert.equal(kvHead, Math.floor(head / 2));
      assert.equal(isNew, key === 52);
    }
  }
});

test("where cells are too thin for a thread each, a head's strongest have one, and their number is returned", () => {
  const { threads, most } = threadsOf(run, { layer: 1, query: 52, firstQuery: 52, pitch: 2 });
  assert.equal(most, STRONGEST);
  for (let head = 0; head < 4; head++) {
    const kept = threads.filter((thread) => thread.head === head).map(({ weight }) => weight);
    const largestFirst = (weights) => weights.sort((a, b) => b - a);
    assert.deepEqual(largestFirst(kept), largestFirst(codes(1, head, 52).map(weightOf)).slice(0, STRONGEST));
  }
  const early = threadsOf(run, { layer: 1, query: 5, firstQuery: 0, pitch: 2 });
  assert.equal(early.most, null, "six keys are all there are");
});

test("the cells of the lens are those of the map: hollow or new columns, weights, K over V of each KV head", () => {
  const kindOf = (kind) => ({ packed: Uint32Array.from({ length: 256 }, (_, shade) => 1000 * kind + shade) });
  const [HOLLOW, K, V, NEW, WEIGHT] = [1, 2, 3, 4, 5];
  const theme = {
    ...{ hollow: 1000 * HOLLOW, track: 6000, reserved: 7000 },
    ...{ cachedK: kindOf(K), cachedV: kindOf(V), computedCell: kindOf(NEW), attentionNow: kindOf(WEIGHT) },
  };
  const range = { low: 1, high: 300 };
  const shades = mapShades(run, { residual: range, k: range, v: range });
  const view = mapView(run, 2);
  const geometry = mapGeometry({ width: 870, height: 540, ...view });
  const lens = lensGeometry(geometry, view, 1);
  const { width, height } = lensSize(lens, 1);
  const target = pixels(width, height);
  for (let part = 0; part < lensParts(view); part++)
    paintLensPart(target, view, part, { shades, theme }, { lens, geometry, ratio: 1 });
  const kindAt = (x, y) =>
    Math.floor(target.data[Math.floor(y - lens.card.y0) * width + Math.floor(x - lens.card.x0)] / 1000);
  const newest = view.positions - 1;
  const inColumn = (group, position, y) => kindAt(middle(columnOf(geometry, group, position)), y);
  assert.equal(inColumn("residual", newest, lens.inside.y0 + 3), NEW);
  assert.equal(kindAt(geometry.residual.x0 + 0.5, middleOf(lens.inside)), HOLLOW);
  for (let kvHead = 0; kvHead < 2; kvHead++) {
    for (const [kind, colour] of Object.entries({ K, V })) {
      const y = middleOf(lens.laneOf(kvHead, kind));
      assert.equal(inColumn("cache", 0, y), colour);
      assert.equal(inColumn("cache", newest, y), NEW);
    }
  }
  for (let head = 0; head < 4; head++) {
    const strip = lens.stripOf(head);
    assert.equal(kindAt(strip.x0 + 1, middleOf(strip)), WEIGHT);
  }
});
