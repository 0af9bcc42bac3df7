import assert from "node:assert/strict";
import { test } from "node:test";
import { factsAt } from "../../../../kvscope/static/stage/map/facts.js";
import { mapView } from "../../../../kvscope/static/stage/map/scene.js";
import { madeRun, withoutCache } from "../../support/made-run.js";

const runWith = (study) => {
  const run = madeRun({ words: ["a", "b", "c", "d", "e"], promptLength: 3 });
  return Object.assign(run, { open: { ...run.open, study } });
};
const notesOf = (run, group) =>
  factsAt(run, 2, { group, layer: 0, kind: "K", kvHead: 0, positions: [1, 1] }).notes.join("; ");

test("a step of decode computes one row, and the notes of the others say whether they are cached or dropped", () => {
  const run = runWith(null);
  assert.deepEqual([mapView(run, 0).firstQuery, mapView(run, 2).firstQuery], [0, 4]);
  assert.match(notesOf(run, "cache"), /in the cache since step 0/);
  assert.match(notesOf(run, "residual"), /dropped it after step 0/);
});

test("without a cache every row is of this step, and no note says that it is cached", () => {
  const run = withoutCache(runWith({ kind: "twin", of: "other", cache: "none" }));
  assert.deepEqual([mapView(run, 0).firstQuery, mapView(run, 2).firstQuery], [0, 0]);
  assert.equal(mapView(run, 2).prefill, false);
  assert.match(notesOf(run, "cache"), /computed again in this step: there is no cache/);
  assert.match(notesOf(run, "residual"), /computed again in this step/);
});
