/** Conditions of a task on what the picture shows. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { holds } from "../../../../kvscope/static/learn/player/conditions.js";

test("all conditions must hold, and a field that the page does not have holds nothing", () => {
  const shown = { step: 3, view: "head" };
  assert.equal(holds({ step: { at_least: 3, at_most: 3 }, view: { equals: "head" } }, shown), true);
  assert.equal(holds({ step: { equals: 3 }, view: { equals: "block" } }, shown), false);
  assert.equal(holds({ step: { at_least: 3, below: 3 } }, shown), false);
  for (const bound of [{ equals: "undefined" }, { differs_from: 1 }])
    assert.equal(holds({ nothing: bound }, shown), false);
  assert.equal(holds({ step: { equals: 3 } }, null), false);
});

test("bounds mean the same as in the check of lessons, which reads the same cases", () => {
  const cases = JSON.parse(readFileSync(new URL("../../../fixtures/conditions.json", import.meta.url), "utf8"));
  for (const [bounds, value, isSo] of cases)
    assert.equal(holds({ field: bounds }, { field: value }), isSo, JSON.stringify([bounds, value]));
});
