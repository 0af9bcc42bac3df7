/** Numbers as people type them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { numberOf } from "../../../../kvscope/static/shared/facts/typed-number.js";

test("a number is read as people type it", () => {
  const typed = ["46080", "46,080", "46 080", "46\u202f080", "4.608e4", "0,5", "0,500", "−3", " .25 ", "1.5"];
  assert.deepEqual(typed.map(numberOf), [46080, 46080, 46080, 46080, 46080, 0.5, 0.5, -3, 0.25, 1.5]);
  for (const text of ["", "many", "1/2", "12 B", "1,2,3", "--1", "Infinity"]) assert.equal(numberOf(text), null, text);
});
