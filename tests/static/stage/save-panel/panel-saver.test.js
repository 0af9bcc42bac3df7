import assert from "node:assert/strict";
import { test } from "node:test";
import { fileName } from "../../../../kvscope/static/stage/save-panel/panel-saver.js";

const named = (prompt) =>
  fileName({ run: { id: "secret-id", open: { prompt } }, step: 3, selection: { layer: 13, head: 8 } }, "map");

test("a file is called by its prompt and its place", () => {
  assert.equal(named("The animal didn't cross"), "kvscope-the-animal-didn-t-cross-step3-layer13-head8-map");
});

test("a file's name does not lead to the run", () => {
  assert.doesNotMatch(named("The sky is"), /secret-id/);
});

test("a name is as short as file systems want it and has nothing that one of them forbids", () => {
  assert.equal(named("猫 sat: on/the <mat>?"), "kvscope-猫-sat-on-the-mat-step3-layer13-head8-map");
  assert.equal(named("…"), "kvscope-run-step3-layer13-head8-map");
  assert.ok(named("word ".repeat(500)).length < 100);
});
