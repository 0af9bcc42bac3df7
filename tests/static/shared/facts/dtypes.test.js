import assert from "node:assert/strict";
import { test } from "node:test";
import { rounding, shortDtype, weightElementBytes } from "../../../../kvscope/static/shared/facts/dtypes.js";

const USUAL = { dtype: "float32", element_bytes: 4, weight_dtype: "float32" };
const ROUNDED = { ...USUAL, weight_dtype: "bfloat16" };

test("weights with the dtype of everything else are not named", () => {
  assert.equal(weightElementBytes(USUAL), 4);
  assert.equal(rounding(USUAL), "float32 rounding");
});

test("weights in bfloat16 take half, and products with them are rounded", () => {
  assert.equal(weightElementBytes(ROUNDED), 2);
  assert.match(rounding(ROUNDED), /to bf16 before a multiplication with weights/);
});

test("a dtype without a short name keeps its full name", () => {
  assert.deepEqual(["float32", "bfloat16", "int3"].map(shortDtype), ["fp32", "bf16", "int3"]);
});
