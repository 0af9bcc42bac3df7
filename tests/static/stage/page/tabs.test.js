import assert from "node:assert/strict";
import { test } from "node:test";
import { currentTab } from "../../../../kvscope/static/stage/page/tabs.js";

const PANELS = [{ id: "map" }, { id: "inspector" }, { id: "next-token", view: "tokens" }, { id: "time", view: "time" }];

test("an enlarged panel is under its own tab, and every other view under that of the inspector", () => {
  assert.equal(currentTab(PANELS, 1, "time"), 3);
  assert.equal(currentTab(PANELS, 1, "tokens"), 2);
  assert.deepEqual([currentTab(PANELS, 1, "head"), currentTab(PANELS, 1, "effects")], [1, 1]);
  assert.deepEqual([currentTab(PANELS, 0, "time"), currentTab(PANELS, 3, "head")], [0, 3]);
});
