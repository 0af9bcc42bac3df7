import assert from "node:assert/strict";
import { test } from "node:test";
import { describable, described } from "../../../../kvscope/static/learn/reference/described.js";
import { shapesOf } from "../../../../kvscope/static/learn/reference/shapes.js";
import { lettersOf, sizeOf } from "../../../../kvscope/static/shared/facts/shapes.js";
import { MODELS, modelOf } from "../../memory/known.js";
import { LIKE_LLAMA } from "../../support/made-run.js";

const ids = describable(MODELS).map(({ id }) => id);
/** Returns the sizes of a tensor in a decode step with 9 tokens so far. */
const shapeIn = (model, id) => {
  const rows = shapesOf(model).flatMap((group) => group.rows);
  const { axes } = rows.find((row) => row.id === id);
  return axes.map((axis) => sizeOf(axis, lettersOf(model, { rows: 1, keys: 9 })));
};

test("models are offered whose computation is that of this engine", () => {
  for (const id of ["llama-3-8b", "llama-2-7b", "qwen3-8b", "gemma-2-2b", "gemma-3-1b"])
    assert.ok(ids.includes(id), id);
  for (const id of ["deepseek-v3", "mixtral-8x7b", "falcon-7b"]) assert.ok(!ids.includes(id), id);
});

test("a known model is described as an open frame describes one", () => {
  const { weights, weight_bytes, weight_dtype, ...computed } = LIKE_LLAMA;
  for (const model of describable(MODELS).map(described))
    assert.deepEqual(
      Object.keys(computed).filter((field) => !(field in model)),
      [],
      model.name,
    );
  const llama = described(modelOf("llama-3-8b"));
  for (const field of ["norm", "gated", "activation", "positions", "qk_norm", "windows", "post_norms", "experts"])
    assert.equal(llama[field], LIKE_LLAMA[field], field);
});

test("its tensors have its own sizes", () => {
  const llama = described(modelOf("llama-3-8b"));
  assert.deepEqual(shapeIn(llama, "cache.K"), [8, 9, 128]);
  assert.deepEqual(shapeIn(llama, "attn.scores"), [32, 1, 9]);
  assert.deepEqual(shapeIn(llama, "W_Q"), [4096, 4096]);
  assert.deepEqual(shapeIn(llama, "W_K, W_V"), [4096, 1024]);
});

test("norms, activations and windows are those of its family", () => {
  const gemma = described(modelOf("gemma-3-1b"));
  assert.deepEqual([gemma.activation, gemma.post_norms, gemma.qk_norm], ["gelu_tanh", true, true]);
  assert.equal(gemma.embedding_scale, Math.sqrt(1152));
  assert.deepEqual(gemma.windows.slice(4, 7), [512, null, 512]);
  assert.equal(described(modelOf("qwen3-8b")).qk_norm, true);
});
