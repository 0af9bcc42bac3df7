import assert from "node:assert/strict";
import { test } from "node:test";
import { walk } from "../../../../kvscope/static/stage/state/layer-walk.js";

const RUN = { steps: 3, layers: 2 };

function path(from, change, count) {
  const places = [];
  for (let at = from, left = count; left > 0; left--) {
    at = walk(at, change, RUN);
    places.push([at.step, at.layerStop]);
  }
  return places;
}

test("on from a rest, layer after layer, to the next rest", () => {
  const rest = { step: 0, layerStop: null };
  assert.deepEqual(path(rest, 1, 4), [
    [1, 1],
    [1, 2],
    [1, null],
    [2, 1],
  ]);
});

test("back the same way, to the first layer of the first step and no further", () => {
  const rest = { step: 1, layerStop: null };
  assert.deepEqual(path(rest, -1, 7), [
    [1, 2],
    [1, 1],
    [0, null],
    [0, 2],
    [0, 1],
    [0, 1],
    [0, 1],
  ]);
});

test("from the newest rest the newest step begins again", () => {
  assert.deepEqual(walk({ step: 2, layerStop: null }, 1, RUN), { step: 2, layerStop: 1 });
});
