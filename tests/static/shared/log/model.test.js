import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFrame } from "../../../../kvscope/static/shared/log/frames.js";
import { completed } from "../../../../kvscope/static/shared/log/model.js";
import { encode } from "../../support/wire.js";

const SIZES = { layers: 2, heads: 4, kv_heads: 2, head_dim: 8, d: 32, d_mlp: 48, vocab: 259, context: 64 };
const SAID = {
  ...{ norm: "layer", gated: true, activation: "gelu_tanh", positions: "none", qk_norm: true, windows: [4, null] },
  ...{
    tied: false,
    weight_dtype: "bfloat16",
    post_norms: true,
    embedding_scale: 5.5,
    score_width: 25,
    experts: { count: 8, chosen: 2, width: 16 },
  },
};

test("what a log says counts, whatever its architecture is called", () => {
  for (const arch of ["llama", "gpt2", "qwen3", "new"]) {
    const model = { ...SIZES, ...SAID, arch, parameters: 1 };
    assert.deepEqual(completed(model), model);
  }
});

test("null is as unsaid as nothing", () => {
  const unsaid = Object.fromEntries(Object.keys(SAID).map((name) => [name, null]));
  const model = { ...SIZES, arch: "gpt2", parameters: 30_000 };
  assert.deepEqual(completed({ ...model, ...unsaid }), completed(model));
});

test("of an architecture that no old log has, all is as in most models", () => {
  const { norm, gated, activation, positions, qk_norm, windows } = completed({ ...SIZES, arch: "new", parameters: 1 });
  assert.deepEqual(
    [norm, gated, activation, positions, qk_norm, windows],
    ["rms", true, "silu", "rotary", false, null],
  );
});

test("the first frame of a log comes with a complete model", () => {
  const model = { ...SIZES, arch: "gpt2", parameters: 1 };
  const { data } = decodeFrame(encode({ kind: "open", seq: 0, data: { model, prompt: "a" } }));
  assert.deepEqual(data, { model: completed(model), prompt: "a" });
});
