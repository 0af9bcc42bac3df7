/** Conditions of a task on what the picture shows. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { holds } from "../../../../kvscope/static/learn/player/conditions.js";

const SHOWN = { step: 3, view: "head", temperature: 1.5, key: null, branched_at: null };

test("every bound compares the page's value", () => {
  const right = [
    { step: { equals: 3 } },
    { step: { equals: "3" } },
    { step: { at_least: 3, at_most: 3 } },
    { temperature: { above: 1 }, view: { equals: "head" } },
    { temperature: { below: 2 } },
    { view: { one_of: ["block", "head"] } },
    { view: { differs_from: "block" } },
  ];
  const wrong = [
    { step: { equals: 4 } },
    { step: { above: 3 } },
    { step: { below: 3 } },
    { key: { below: 3 } },
    { key: { at_most: 3 } },
    { key: { at_least: 0 } },
    { key: { above: -1 } },
    { branched_at: { differs_from: "" } },
    { view: { one_of: ["block"] } },
    { nothing: { equals: 1 } },
    { step: { equals: 3 }, view: { equals: "block" } },
  ];
  for (const conditions of right) assert.equal(holds(conditions, SHOWN), true, JSON.stringify(conditions));
  for (const conditions of wrong) assert.equal(holds(conditions, SHOWN), false, JSON.stringify(conditions));
  assert.equal(holds({ step: { equals: 3 } }, null), false);
});

test("bounds mean the same as in the check of lessons, which reads the same cases", () => {
  const cases = JSON.parse(readFileSync(new URL("../../../fixtures/conditions.json", import.meta.url), "utf8"));
  for (const [bounds, value, isSo] of cases)
    assert.equal(holds({ field: bounds }, { field: value }), isSo, JSON.stringify([bounds, value]));
});
