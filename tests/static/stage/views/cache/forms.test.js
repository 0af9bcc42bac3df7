import assert from "node:assert/strict";
import { test } from "node:test";
import { formName, lossOf, smallerForms } from "../../../../../kvscope/static/stage/views/cache/forms.js";

test("fewer bits come first, then each number of heads that they can be merged to", () => {
  const names = (model) => smallerForms(model).map((form) => formName(form, model.kv_heads));
  assert.deepEqual(names({ kv_heads: 3, dtype: "float32" }), [
    "bf16",
    "int8",
    "int4",
    "float32, 3 KV heads merged to 1",
  ]);
  assert.deepEqual(names({ kv_heads: 1, dtype: "bfloat16" }), ["int8", "int4"]);
  assert.equal(smallerForms({ kv_heads: 8, dtype: "float32" }).length, 6);
});

test("a loss has the mean and the largest KL, and the first step with another token", () => {
  const likeliest = [1, 2, 3].map((id) => [{ id }, { id: id === 2 ? 9 : id }]);
  assert.deepEqual(lossOf({ kl: [0, 0.2, 0.1], likeliest }), {
    ...{ mean: 0.10000000000000002, most: 0.2, change: { step: 1, before: { id: 2 }, after: { id: 9 } } },
  });
  assert.equal(lossOf({ kl: [0], likeliest: [[{ id: 1 }, { id: 1 }]] }).change, null);
});
