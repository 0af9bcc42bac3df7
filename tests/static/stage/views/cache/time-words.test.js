import assert from "node:assert/strict";
import { test } from "node:test";
import { showsLittle, timeWords } from "../../../../../kvscope/static/stage/views/cache/time-words.js";

const compared = (rows, flops, ms) => ({
  steps: [],
  cached: { rows: 26, flops: 6, read: 8 },
  twin: { rows: 26 * rows, flops: 6 * flops, read: 8 },
  times: { cached: 600, twin: 600 * ms },
});

test("time that grew less than the arithmetic is explained by the weights, and no cause is invented for more", () => {
  assert.match(timeWords(compared(11, 10, 1.4)), /10× the arithmetic, 1.4× the time.*reads all weights/);
  assert.equal(timeWords(compared(11, 10, 19)), null);
  assert.equal(timeWords(compared(11, 10, 9)), null);
});

test("a longer prompt is offered only where this one shows little in time", () => {
  assert.equal(showsLittle(compared(11, 10, 1.4)), true);
  assert.equal(showsLittle(compared(11, 10, 19)), false);
});
