import assert from "node:assert/strict";
import { test } from "node:test";
import { switchedOff } from "../../../../kvscope/static/shared/facts/changes.js";
import { changedBoxes } from "../../../../kvscope/static/stage/map/changed-boxes.js";
import { hitMap, mapGeometry, rowOf } from "../../../../kvscope/static/stage/map/geometry.js";

const GEOMETRY = mapGeometry({ width: 900, height: 500, layers: 6, heads: 4, kvHeads: 2, columns: 16 });
const SHOWN = { positions: 10, prefill: false };

/** What the map has in the middle of the box of a change. */
function hit(change) {
  const [box] = changedBoxes(GEOMETRY, [change], SHOWN.positions);
  return hitMap(GEOMETRY, SHOWN, (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2);
}

test("the outline of a change is around the cells that the pointer finds there", () => {
  assert.deepEqual(
    [hit(switchedOff("head", { layer: 2, head: 3 }))].map(({ layer, head }) => [layer, head])[0],
    [2, 3],
  );
  const v = hit(switchedOff("v", { layer: 5, head: 1, position: 7 }));
  assert.deepEqual([v.layer, v.kind, v.kvHead, v.positions], [5, "V", 1, [7, 7]]);
  const k = hit(switchedOff("k", { layer: 0, head: 0, position: 0 }));
  assert.deepEqual([k.layer, k.kind, k.kvHead], [0, "K", 0]);
  assert.equal(hit(switchedOff("mlp", { layer: 4 })).group, "residual");
});

test("a token is outlined in all layers, and one that the step does not have is not", () => {
  const [box] = changedBoxes(GEOMETRY, [switchedOff("token", { position: 3 })], SHOWN.positions);
  assert.ok(box.y0 <= rowOf(GEOMETRY, 5).y0 && box.y1 >= rowOf(GEOMETRY, 0).y1);
  assert.deepEqual(changedBoxes(GEOMETRY, [switchedOff("token", { position: 10 })], SHOWN.positions), []);
});
