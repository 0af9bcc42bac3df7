import assert from "node:assert/strict";
import { test } from "node:test";
import { keptAs, rounding, shortDtype, weightDtype, weightElementBytes } from "../../../static/facts/dtypes.js";

const OLD = { dtype: "float32", element_bytes: 4 };
const USUAL = { ...OLD, weight_dtype: "float32" };
const ROUNDED = { ...OLD, weight_dtype: "bfloat16" };

test("a log that does not say what weights are kept as is one of float32", () => {
  for (const model of [OLD, USUAL]) {
    assert.deepEqual([weightDtype(model), weightElementBytes(model), keptAs(model)], ["float32", 4, "float32"]);
    assert.equal(rounding(model), "float32 rounding");
  }
});

test("weights in bfloat16 take half, and what is multiplied with them is rounded", () => {
  assert.deepEqual([weightDtype(ROUNDED), weightElementBytes(ROUNDED)], ["bfloat16", 2]);
  assert.equal(keptAs(ROUNDED), "float32 with weights in bfloat16");
  assert.match(rounding(ROUNDED), /to bf16 of what is multiplied with weights/);
});

test("a dtype without a short name keeps its own", () => {
  assert.deepEqual(["float32", "bfloat16", "int3"].map(shortDtype), ["fp32", "bf16", "int3"]);
});
