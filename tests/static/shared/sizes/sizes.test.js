import assert from "node:assert/strict";
import { test } from "node:test";
import { BITS, GROUPS } from "../../../../kvscope/static/shared/sizes/dtypes.js";
import {
  batchBytes,
  cacheBytesPerToken,
  requestBytes,
  weightBytes,
} from "../../../../kvscope/static/shared/sizes/sizes.js";
import { MODELS, modelOf, small } from "../../memory/known.js";
import { assertOpens } from "../../memory/opens.js";
import { pluck } from "../../support/lists.js";

const FP16 = { dtype: "fp16" };
const FP32 = { dtype: "fp32" };

const perToken = (model, stored) => cacheBytesPerToken(model, stored).value;
const ofRequest = (model, context, stored = FP16) => requestBytes(model, context, stored).value;
const ofBatch = (model, load, stored = FP16) => batchBytes(model, load, stored).value;

test("the worked examples come out to the byte", () => {
  const examples = [
    ["llama-2-7b", FP16, 524_288, 4096, 2_147_483_648],
    ["llama-3-8b", FP16, 131_072, 8192, 1_073_741_824],
    ["llama-3-70b", FP16, 327_680, 8192, 2_684_354_560],
    ["qwen2.5-72b", FP16, 327_680, 131_072, 42_949_672_960],
    ["smollm2-135m", FP32, 46_080, 8192, 377_487_360],
  ];
  for (const [id, stored, each, tokens, total] of examples) {
    assert.equal(perToken(modelOf(id), stored), each, id);
    assert.equal(ofRequest(modelOf(id), tokens, stored), total, id);
  }
});

test("numbers that are often printed wrongly are the right ones", () => {
  const [small8b, large70b] = [modelOf("llama-3-8b"), modelOf("llama-3-70b")];
  assert.equal(ofRequest(small8b, 8192), 2 * 536_870_912, "K and V are two tensors");
  assert.equal(ofRequest({ ...small8b, kv_heads: 32 }, 8192), 4 * ofRequest(small8b, 8192), "with 32 heads, 4 GB");
  assert.equal(perToken(large70b, FP16), 2 * 160 * 1024, "160 KB forgets K or V");
  assert.equal(perToken({ ...large70b, kv_heads: 64 }, FP16), 2_621_440);
  assert.equal(ofRequest(large70b, 4000), 1_310_720_000, "not 640 MB");
  assert.equal(ofBatch(large70b, { context: 4000, requests: 50, prefix: 0 }), 65_536_000_000, "not 32 GB");
  assert.equal(perToken(small8b, FP32), 4 * perToken(small8b, { dtype: "int8" }), "a quarter, not a half");
  assert.equal(perToken(small8b, { dtype: "int8" }), perToken(small8b, { dtype: "fp8" }));
});

test("the formula is the one of the books, with the model's numbers", () => {
  const { formula, terms, unit } = cacheBytesPerToken(modelOf("llama-3-8b"), FP16);
  assert.equal(formula, "2 × layers × KV heads × head dim × bytes per number");
  assert.deepEqual(pluck(terms, "value"), [2, 32, 8, 128, 2]);
  assert.equal(unit, "B/token");
});

test("latent attention keeps one vector, not two", () => {
  const result = cacheBytesPerToken(modelOf("deepseek-v3"), FP16);
  assert.equal(result.value, 61 * (512 + 64) * 2);
  assert.equal(result.formula, "layers × latent dim × bytes per number");
  assert.equal(ofRequest(modelOf("deepseek-v3"), 1000), 70_272_000);
});

test("a window keeps its tokens and no more, and only in the layers that have it", () => {
  const model = small({ window: { tokens: 5, layers: [0] } });
  const layer = 2 * 4 * 2;
  for (const [tokens, kept] of Object.entries({ 1: 1, 4: 4, 5: 5, 6: 5, 1000: 5 }))
    assert.equal(ofRequest(model, Number(tokens)), layer * (Number(tokens) + kept), `${tokens} tokens`);
  assert.equal(perToken(model, FP16), 2 * layer, "a token that is just written is in all layers");
  const everywhere = modelOf("mistral-7b-v0.1");
  assert.equal(ofRequest(everywhere, 32_768), ofRequest(everywhere, 4096));
  assert.equal(ofRequest(everywhere, 4096), 4096 * 131_072);
  assert.equal(ofRequest(modelOf("gemma-2-9b"), 8192), 2 * 8 * 256 * 2 * (21 * 8192 + 21 * 4096));
  assert.equal(ofRequest(modelOf("gemma-3-27b"), 100_000), 2 * 16 * 128 * 2 * (10 * 100_000 + 52 * 1024));
});

test("a shared prefix is counted once", () => {
  const model = modelOf("llama-3-8b");
  const load = { context: 2000, requests: 10, prefix: 1500 };
  assert.equal(ofBatch(model, load), 131_072 * (1500 + 10 * 500));
  assert.equal(ofBatch(model, { ...load, prefix: 2000 }), ofRequest(model, 2000), "all the same: one");
  assert.equal(ofBatch(model, { ...load, prefix: 0 }), 10 * ofRequest(model, 2000));
});

test("one request is a batch of one, whatever of it is a prefix, and a batch never shrinks as it grows", () => {
  for (const window of [null, { tokens: 7, layers: [1] }, { tokens: 7, layers: [0, 1] }]) {
    const model = small({ window });
    for (let prefix = 0; prefix <= 12; prefix++) {
      for (let context = prefix; context <= 20; context++) {
        const batch = (requests, more = 0) => ofBatch(model, { context: context + more, requests, prefix });
        assert.equal(batch(1), ofRequest(model, context));
        assert.ok(batch(3) <= 3 * batch(1));
        assert.ok(batch(4) >= batch(3));
        assert.ok(batch(3, 1) >= batch(3));
      }
    }
  }
});

test("a prefix that no request can see any more is not kept by layers with a window", () => {
  const model = small({ window: { tokens: 5, layers: [0] } });
  const layer = 2 * 4 * 2;
  const at = (context) => ofBatch(model, { context, requests: 3, prefix: 4 });
  assert.equal(at(4), layer * (4 + 4), "all of it");
  assert.equal(at(6), layer * (4 + 6 + (3 + 6)), "of 4, the 3 beside 2 of their own");
  assert.equal(at(20), layer * (4 + 48 + 15), "none of it beside 5 of their own");
});

test("scales of quantized numbers are counted where asked for", () => {
  const model = modelOf("llama-3-8b");
  assert.equal(perToken(model, { dtype: "int4" }), 32_768);
  assert.equal(perToken(model, { dtype: "int4", group: 32 }), 2 * 32 * 8 * (64 + 4 * 2));
  assert.equal(perToken(model, { dtype: "int8", group: 128 }), 2 * 32 * 8 * (128 + 2));
  assert.equal(perToken(small(), { dtype: "int8", group: 64 }), 2 * 2 * (4 + 2), "a begun group has a scale");
  assert.equal(perToken(small({ head_dim: 5 }), { dtype: "int4" }), 2 * 2 * 3, "half a byte takes a whole one");
});

test("weights are parameters times bytes, all experts among them", () => {
  assert.equal(weightBytes(modelOf("llama-3-8b"), FP16).value, 16_060_522_496);
  assert.equal(weightBytes(modelOf("mixtral-8x7b"), FP16).value, 2 * 46_702_792_704);
  const int4 = { dtype: "int4", group: 128 };
  assert.equal(weightBytes(modelOf("llama-3-8b"), int4).value, 8_030_261_248 / 2 + 125_472_832);
});

test("the new presets have the cache of their layers", () => {
  assert.equal(perToken(modelOf("llama-3.1-405b"), FP16), 2 * 126 * 8 * 128 * 2);
  assert.equal(perToken(modelOf("qwen3-30b-a3b"), FP16), 2 * 48 * 4 * 128 * 2);
  assert.equal(perToken(modelOf("command-r"), FP16), 2 * 40 * 64 * 128 * 2);
  assert.equal(perToken(modelOf("deepseek-r1"), FP16), 61 * 576 * 2);
  const gpt = (tokens) => ofRequest(modelOf("gpt-oss-20b"), tokens);
  assert.equal(gpt(128), 24 * 128 * 2 * 8 * 64 * 2);
  assert.equal(gpt(10_000) - gpt(9999), 12 * 2 * 8 * 64 * 2, "every second layer has a window of 128");
  const next = (tokens) => ofRequest(modelOf("qwen3-next-80b-a3b"), tokens);
  assert.equal(next(1001) - next(1000), 12 * 2 * 2 * 256 * 2, "every fourth layer stores K and V");
  const state = 36 * (32 * 128 * 128 * 4 + (2 * 16 * 128 + 32 * 128) * 4 * 2);
  assert.equal(next(1) - (next(2) - next(1)), state, "the others a state of constant size");
});

test("formats with scales of their own count them, and experts may have another format than the rest", () => {
  const model = modelOf("gpt-oss-20b");
  const mixed = weightBytes(model, { dtype: "bf16", experts: { dtype: "mxfp4" } }).value;
  const experts = 24 * 32 * (3 * 2880 * 2880 + 3 * 2880);
  assert.equal(mixed, 2 * (20_914_757_184 - experts) + (experts * 17) / 32);
  assert.ok(Math.abs(mixed / 13.76e9 - 1) < 0.01, "the size of the published files");
  assert.equal(weightBytes(modelOf("llama-3-8b"), { dtype: "nvfp4" }).value, (8_030_261_248 * 9) / 16);
  const dense = { dtype: "bf16", experts: { dtype: "mxfp4" } };
  assert.equal(weightBytes(modelOf("llama-3-8b"), dense).value, weightBytes(modelOf("llama-3-8b"), FP16).value);
});

test("every size is a whole number and opens to its arithmetic", () => {
  for (const model of MODELS) {
    for (const dtype of Object.keys(BITS)) {
      for (const group of GROUPS) {
        const stored = { dtype, group };
        const results = [
          cacheBytesPerToken(model, stored),
          requestBytes(model, 5000, stored),
          batchBytes(model, { context: 5000, requests: 7, prefix: 1234 }, stored),
          weightBytes(model, stored),
        ];
        for (const result of results) {
          assert.ok(Number.isSafeInteger(result.value), `${model.name}: ${result.formula}`);
          assertOpens(result);
        }
      }
    }
  }
});
