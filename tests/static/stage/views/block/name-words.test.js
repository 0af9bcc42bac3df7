import assert from "node:assert/strict";
import { test } from "node:test";
import { otherNames } from "../../../../../kvscope/static/stage/views/block/name-words.js";
import { LIKE_GPT2, LIKE_LLAMA } from "../../../support/made-run.js";

test("a layer's other names follow from its own kind", () => {
  const dims = ({ norm, ...model }) => ({ ...model, d: 768, mlp: 3072, centred: norm === "layer" });
  const old = otherNames(dims(LIKE_GPT2)).join(" ");
  const modern = otherNames({ ...dims(LIKE_LLAMA), d: 576, mlp: 1536 }).join(" ");
  for (const name of ["FFN", "4d = 3,072", "GELU", "LayerNorm"]) assert.ok(old.includes(name), name);
  for (const name of ["FFN", "1,536", "2,304", "SwiGLU", "SiLU", "RMSNorm"]) assert.ok(modern.includes(name), name);
  assert.match(old, /two matrices with GELU/);
  assert.match(modern, /three matrices/);
});
