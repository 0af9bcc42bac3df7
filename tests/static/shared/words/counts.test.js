import assert from "node:assert/strict";
import { test } from "node:test";
import { positionsInWords, stepsInWords } from "../../../../kvscope/static/shared/words/counts.js";

test("a range of one number is named as one", () => {
  assert.deepEqual([stepsInWords(0, 0), stepsInWords(0, 2)], ["Step 0", "Steps 0 to 2"]);
  assert.deepEqual([positionsInWords(4, 4), positionsInWords(0, 15)], ["Position 4", "Positions 0 to 15"]);
});
