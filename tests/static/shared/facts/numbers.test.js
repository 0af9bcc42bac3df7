/** The page's numbers and the server's own are written alike: cases that tests/app/test_numbers.py reads. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { plainNumber } from "../../../../kvscope/static/learn/player/predict.js";
import { bytesShort, fixed, integer, percent } from "../../../../kvscope/static/shared/facts/format.js";

const CASES = JSON.parse(readFileSync(new URL("../../../fixtures/numbers.json", import.meta.url), "utf8"));
const WRITERS = { percent, bytes: bytesShort, integer, fixed, short: plainNumber };

test("tokens spell their text with spaces and newlines unchanged", () =>
  assert.deepEqual(Object.keys(CASES), Object.keys(WRITERS)));

for (const [kind, write] of Object.entries(WRITERS))
  test(`${kind}: a number is written as the server writes it`, () => {
    for (const [given, text] of CASES[kind])
      assert.equal(write(...given).replaceAll("\u202f", " "), text, `${kind}(${given})`);
  });
