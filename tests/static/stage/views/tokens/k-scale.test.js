import assert from "node:assert/strict";
import { test } from "node:test";
import { indexOfK, kAt, kStops } from "../../../../../kvscope/static/stage/views/tokens/k-scale.js";

test("a slider for top-k goes from 1 to the vocabulary by equal ratios, and has every small number", () => {
  const stops = kStops(49152);
  assert.deepEqual(stops.slice(0, 10), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.equal(stops.at(-1), 49152);
  const half = stops[Math.round((stops.length - 1) / 2)];
  assert.ok(half < 1000, `half way is ${half}`);
  for (const [i, stop] of stops.slice(1).entries()) assert.ok(stop > stops[i] && (stop < 20 || stop / stops[i] < 1.1));
});

test("off is the last stop, and a number between two stops gets the nearer one", () => {
  const stops = kStops(49152);
  assert.equal(indexOfK(stops, 0), stops.length - 1);
  assert.equal(stops[indexOfK(stops, 7)], 7);
  const near = stops[indexOfK(stops, 1000)];
  assert.ok(Math.abs(near - 1000) < 50);
  assert.equal(kAt(49152, 49152), 0);
  assert.equal(kAt(60000, 49152), 0);
  assert.equal(kAt(40.4, 49152), 40);
});
