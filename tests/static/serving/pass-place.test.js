import assert from "node:assert/strict";
import { test } from "node:test";
import { passCount, passPlace } from "../../../static/serving/pass-place.js";
import { folded, framesOf, SETTINGS } from "./made.js";

test("a pass is counted from 1 in its round, which is named where there are several", () => {
  const pair = folded(framesOf([SETTINGS, { ...SETTINGS, sharing: false }]));
  assert.deepEqual(
    [0, 2, 3].map((number) => passCount(pair, number)),
    ["1 in round “on”", "3 in round “on”", "1 in round “off”"],
  );
  const alone = folded(framesOf([SETTINGS]));
  assert.deepEqual(passPlace(alone, 2), { place: "3", passes: "3", where: "" });
});

test("of a pass that is not there yet nothing is said", () => {
  assert.equal(passCount(null, 2), "…");
  assert.equal(passCount(folded(framesOf([SETTINGS])), 99), "…");
});
