import assert from "node:assert/strict";
import { test } from "node:test";
import { barOf, MOST_PIECES } from "../../../kvscope/static/memory/bar.js";
import { readConfig } from "../../../kvscope/static/memory/config.js";
import { variants } from "../../../kvscope/static/memory/heads.js";
import { batchBytes, weightBytes } from "../../../kvscope/static/shared/sizes/sizes.js";
import { CONFIGS } from "./configs.js";
import { gpuOf, modelOf, small } from "./known.js";
import { assertOpens } from "./opens.js";

const BF16 = { dtype: "bf16" };
const INPUTS = { context: 8192, requests: 8, prefix: 0, cache: BF16, weights: BF16, gpu: gpuOf("h100-sxm"), gpus: 1 };

test("the pieces of the bar are what is in use, and the rest is left", () => {
  const model = modelOf("llama-3-8b");
  const bar = barOf(model, INPUTS);
  assert.deepEqual([bar.each, bar.prefix, bar.pieces], [1_073_741_824, 0, 8]);
  assert.equal(bar.weights + 8 * bar.each, bar.used);
  assert.equal(bar.used + bar.left, 80e9);
  const shared = barOf(model, { ...INPUTS, prefix: 4096 });
  assert.equal(shared.prefix, shared.each);
  assert.equal(shared.weights + shared.prefix + 8 * shared.each, shared.used);
});

test("of a model with a window the pieces add up too", () => {
  const model = modelOf("gemma-2-2b");
  const inputs = { ...INPUTS, prefix: 6000, requests: 5 };
  const bar = barOf(model, inputs);
  assert.equal(bar.prefix + 5 * bar.each, batchBytes(model, inputs, BF16).value);
  assert.equal(bar.weights, weightBytes(model, BF16).value);
});

test("what does not fit makes the bar longer than the card, and many requests are one piece", () => {
  const bar = barOf(modelOf("llama-3-8b"), { ...INPUTS, requests: MOST_PIECES + 1 });
  assert.ok(bar.left < 0);
  assert.deepEqual([bar.scale, bar.pieces], [bar.used, 1]);
  assert.equal(barOf(modelOf("llama-3-8b"), { ...INPUTS, context: 100 }).pieces, 1, "too thin to be told apart");
});

test("KV heads merged and apart, each once", () => {
  const variantsOf = (id) => variants(modelOf(id), BF16).map(({ name, own, bytes }) => [name, own, bytes.value]);
  assert.deepEqual(variantsOf("llama-3-8b"), [
    ["MHA", false, 524_288],
    ["GQA", true, 131_072],
    ["MQA", false, 16_384],
  ]);
  const named = (id) => variants(modelOf(id), BF16).map(({ name, own }) => (own ? `its own ${name}` : name));
  assert.deepEqual([named("gpt2"), named("falcon-7b")].flat(), ["its own MHA", "MQA", "MHA", "its own MQA"]);
  const [mha, mla, mqa] = variantsOf("deepseek-v3");
  assert.deepEqual(mha, ["MHA", false, 61 * 128 * (192 + 128) * 2]);
  assert.deepEqual(mla, ["MLA", true, 61 * (512 + 64) * 2]);
  assert.equal(mqa[2], mha[2] / 128);
  for (const { bytes } of [...variants(modelOf("deepseek-v3"), BF16), ...variants(small(), BF16)]) assertOpens(bytes);
});

test("the fields that matter read as the whole config does, and are fewer", () => {
  for (const [id, config] of Object.entries(CONFIGS)) {
    const text = JSON.stringify({ ...config, architectures: ["X"], torch_dtype: "bfloat16", eos_token_id: 2 });
    const { model, notes, relevant } = readConfig(text);
    const again = readConfig(relevant);
    assert.deepEqual([again.model, again.notes, again.relevant], [model, notes, relevant], id);
    assert.ok(!relevant.includes("eos_token_id") && relevant.length < text.length, id);
  }
});

test("of a config around a text model, and of what is stored quantized, it stays so", () => {
  const text_config = { ...CONFIGS["llama-3-8b"], quantization_config: { bits: 4, scheme: "x".repeat(500) } };
  const { notes, relevant } = readConfig(JSON.stringify({ model_type: "llava", text_config }));
  assert.equal(notes.length, 3);
  assert.match(notes[2], /tie_word_embeddings = false/);
  assert.deepEqual(readConfig(relevant).notes, notes);
  assert.ok(relevant.length < 500);
});
