import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesDuring, cacheBytes, layerBytes } from "../../../../kvscope/static/stage/kv-cache/facts.js";
import { madeRun } from "../../support/made-run.js";

const made = (options) => madeRun({ words: ["a", "b", "c", "d", "e"], promptLength: 3, layers: 4, ...options });

test("while a step is shown, each shown layer has written its rows", () => {
  const run = made({});
  const { model } = run.open;
  assert.equal(bytesDuring(run, 0, 0), 0);
  assert.equal(bytesDuring(run, 0, 2), 2 * layerBytes(model, 3));
  assert.equal(bytesDuring(run, 0, 4), cacheBytes(model, 3));
  assert.equal(bytesDuring(run, 1, 0), cacheBytes(model, 3));
  assert.equal(bytesDuring(run, 1, 1), cacheBytes(model, 3) + layerBytes(model, 1));
});

test("a layer whose window is full drops as much as it writes", () => {
  const words = Array.from({ length: 20 }, (_, position) => `w${position}`);
  const run = made({ words, promptLength: 12, windows: [8, null, 8, 8], blockSize: 1 });
  const { model } = run.open;
  const [before, after] = [run.steps[3].data.kv, run.steps[4].data.kv];
  assert.equal(before.windowed.positions, after.windowed.positions);
  const atRest = layerBytes(model, before.positions) + 3 * layerBytes(model, before.windowed.positions);
  assert.equal(bytesDuring(run, 4, 1), atRest);
  assert.equal(bytesDuring(run, 4, 2), atRest + layerBytes(model, 1));
  assert.equal(bytesDuring(run, 4, 4), atRest + layerBytes(model, 1));
});
