import assert from "node:assert/strict";
import { test } from "node:test";
import { axesAt, axesOf, lettersOf, sizeOf, textbookAxesAt } from "../../../../kvscope/static/shared/facts/shapes.js";

const MODEL = { d: 32, d_mlp: 48, heads: 4, kv_heads: 2, head_dim: 8, vocab: 50, context: 64 };

test("an axis is a letter, a product or a sum of letters", () => {
  const letters = lettersOf(MODEL, { rows: 3, keys: 12 });
  const sizes = ["T", "K", "G", "H*Dh", "(H+2Hkv)*Dh", "N"].map((axis) => sizeOf(axis, letters));
  assert.deepEqual(sizes, [3, 12, 2, 32, 64, 1]);
});

test("textbooks put the heads first, and have one axis for all of them", () => {
  assert.deepEqual(axesAt("attn.k_rot"), ["T", "Hkv", "Dh"]);
  assert.deepEqual(textbookAxesAt("attn.k_rot"), ["Hkv", "T", "Dh"]);
  assert.deepEqual(textbookAxesAt("attn.scores"), ["H", "T", "K"]);
  assert.deepEqual(textbookAxesAt("mlp.hidden"), ["T", "F"]);
});

test("an unknown hook point or matrix is refused", () => {
  assert.throws(() => axesAt("attn.new"), RangeError);
  assert.throws(() => axesOf("mlp.new"), RangeError);
});
