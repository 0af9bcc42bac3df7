import assert from "node:assert/strict";
import { test } from "node:test";
import { cellText, typedNumber } from "../../../kvscope/static/by-hand/numbers.js";

test("a cell has three decimals as long as they have room", () => {
  assert.deepEqual([0.24825, -1, -0.0001, 999.9994, 1000, 123456.7, 5e14, Number.NEGATIVE_INFINITY].map(cellText), [
    "0.248",
    "−1.000",
    "0.000",
    "999.999",
    "1,000",
    "123,457",
    "5 × 10¹⁴",
    "−∞",
  ]);
});

test("what is typed is a number with a point or a comma, and nothing else", () => {
  assert.deepEqual(["0.5", "0,5", "−2", " .5 ", "3."].map(typedNumber), [0.5, 0.5, -2, 0.5, 3]);
  assert.deepEqual(["", "-", "1e3", "abc", "1.2.3", "NaN", "Infinity"].map(typedNumber), Array(7).fill(null));
});
