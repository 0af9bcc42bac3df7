import assert from "node:assert/strict";
import { test } from "node:test";
import { expected } from "../../../kvscope/static/memory/curves.js";
import {
  cacheOnGpu,
  fits,
  gpusForWeights,
  gpusNeeded,
  mostRequests,
  weightsOnGpu,
} from "../../../kvscope/static/memory/fits.js";
import { groupSizes, layoutNotes } from "../../../kvscope/static/shared/sizes/layout.js";
import {
  stepBytes,
  stepComputeTime,
  stepFlops,
  timePerToken,
  timeToFirstToken,
} from "../../../kvscope/static/shared/sizes/speed.js";
import { gpuOf, MODELS, modelOf } from "./known.js";
import { assertOpens } from "./opens.js";

const BF16 = { dtype: "bf16" };
const FP8 = { dtype: "fp8" };

const on = (gpus, gpu, changes = {}) => ({
  ...{ context: 8192, requests: 1, prefix: 0, cache: BF16, weights: BF16, gpu: gpuOf(gpu), gpus },
  ...changes,
});

/**
 * By hand, of the fullest GPU: `weights` in bytes, `request`: bytes of the cache of one request on each GPU of its group, and how
 * many requests fit on all GPUs together.
 */
const CASES = {
  "Llama-3-8B, 16 × H100, one group: 8 KV heads, each on two GPUs": {
    ...{ model: "llama-3-8b", inputs: on(16, "h100-sxm") },
    // 2 of 32 heads, 1 of 8 KV heads, 896 of 14,336, 8,016 of 128,256 tokens; norms whole
    weights: 2 * (2 * 8016 * 4096 + 32 * (2 * 4096 * 256 + 2 * 4096 * 128 + 3 * 4096 * 896 + 2 * 4096) + 4096),
    request: 8192 * 32 * 2 * 1 * 128 * 2,
    requests: 588,
  },
  "Llama-3-8B, 8 × H100, one group: a KV head each": {
    ...{ model: "llama-3-8b", inputs: on(8, "h100-sxm") },
    weights: 2 * (2 * 16_032 * 4096 + 32 * (2 * 4096 * 512 + 2 * 4096 * 128 + 3 * 4096 * 1792 + 2 * 4096) + 4096),
    request: 134_217_728,
    requests: 581,
  },
  "Llama-3.1-405B in fp8, 8 × H200, one group, 32,768 tokens": {
    ...{ model: "llama-3.1-405b", inputs: on(8, "h200", { weights: FP8, context: 32_768 }) },
    // 16 of 128 heads, 1 of 8 KV heads, 6,656 of 53,248, 16,032 of 128,256
    weights:
      2 * 16_032 * 16_384 + 126 * (2 * 16_384 * 2048 + 2 * 16_384 * 128 + 3 * 16_384 * 6656 + 2 * 16_384) + 16_384,
    request: 32_768 * 126 * 2 * 128 * 2,
    requests: 42,
  },
  "DeepSeek-V3 in fp8, 8 × H200, one group: the latent vectors on each": {
    ...{ model: "deepseek-v3", inputs: on(8, "h200", { weights: FP8 }) },
    // 16 of 128 heads: q up 1536 × 16 × 192, KV up 512 × 16 × 256, output 16 × 128 × 7168; whole: q down, KV down, norms
    weights:
      2 * 16_160 * 7168 +
      61 * (7168 * 1536 + 1536 + 1536 * 3072 + 7168 * 576 + 512 + 512 * 4096 + 2048 * 7168 + 2 * 7168) +
      7168 +
      3 * (3 * 7168 * 2304) +
      58 * (256 * 7168 + 3 * 7168 * 256 + 256 * 3 * 7168 * 256),
    request: 8192 * 61 * 576 * 2,
    requests: 97, // 0.80 million tokens
  },
  "DeepSeek-V3 in fp8, 8 × H200, data-parallel attention, 32 experts each": {
    ...{ model: "deepseek-v3", inputs: on(8, "h200", { weights: FP8, tp: 1, experts: "whole" }) },
    weights:
      2 * 129_280 * 7168 +
      61 * (7168 * 1536 + 1536 + 1536 * 24_576 + 7168 * 576 + 512 + 512 * 32_768 + 16_384 * 7168 + 2 * 7168) +
      7168 +
      3 * (3 * 7168 * 18_432) +
      58 * (256 * 7168 + 3 * 7168 * 2048 + 32 * 3 * 7168 * 2048),
    request: 8192 * 61 * 576 * 2,
    requests: 8 * 73,
  },
  "DeepSeek-V3 in fp8, 16 × H100, four groups of 4, experts divided": {
    ...{ model: "deepseek-v3", inputs: on(16, "h100-sxm", { weights: FP8, tp: 4 }) },
    // 32 of 128 heads; an expert of 2,048 on 16 GPUs: 128; the shared expert in a group: 512
    weights:
      2 * 32_320 * 7168 +
      61 * (7168 * 1536 + 1536 + 1536 * 6144 + 7168 * 576 + 512 + 512 * 8192 + 4096 * 7168 + 2 * 7168) +
      7168 +
      3 * (3 * 7168 * 4608) +
      58 * (256 * 7168 + 3 * 7168 * 512 + 256 * 3 * 7168 * 128),
    request: 8192 * 61 * 576 * 2,
    requests: 4 * 59,
  },
  "Mixtral-8x7B, 4 × A100: 2 KV heads each": {
    ...{ model: "mixtral-8x7b", inputs: on(4, "a100-80gb") },
    weights:
      2 *
      (2 * 8000 * 4096 + 32 * (2 * 4096 * 1024 + 2 * 4096 * 256 + 8 * 4096 + 8 * 3 * 4096 * 3584 + 2 * 4096) + 4096),
    request: 8192 * 32 * 2 * 2 * 128 * 2,
    requests: 211,
  },
  "Qwen3-30B-A3B, 8 × L4: 4 KV heads, each on two GPUs; 16 whole experts": {
    ...{ model: "qwen3-30b-a3b", inputs: on(8, "l4", { experts: "whole" }) },
    weights:
      2 *
      (2 * 18_992 * 2048 +
        48 * (2 * 2048 * 512 + 2 * 2048 * 128 + 2 * 128 + 128 * 2048 + 16 * 3 * 2048 * 768 + 2 * 2048) +
        2048),
    request: 8192 * 48 * 2 * 128 * 2,
    requests: 81,
  },
  "Qwen3-Next, 4 × H100: 2 KV heads, each on two GPUs; 8 of 32 states": {
    ...{ model: "qwen3-next-80b-a3b", inputs: on(4, "h100-sxm") },
    // 12 layers with attention (q and its gate: 4 of 16 heads of 256), 36 with a state (4 of 16 key heads, 8 of 32 value heads)
    weights:
      2 *
      (2 * 37_984 * 2048 +
        12 * (3 * 2048 * 1024 + 2 * 2048 * 256 + 2 * 256) +
        36 * (2048 * (2 * 512 + 2 * 1024) + 2048 * 16 + (2 * 512 + 1024) * 4 + 16 + 128 + 1024 * 2048) +
        48 * (2 * 2048 + 512 * 2048 + 3 * 2048 * 128 + 2048 + 512 * 3 * 2048 * 128) +
        2048),
    request: 8192 * 12 * 2 * 256 * 2 + 36 * (8 * 128 * 128 * 4 + (2 * 512 + 1024) * 4 * 2),
    requests: 333,
  },
  "gpt-oss-20b, its experts in mxfp4, 2 × RTX 5090: a window in every second layer": {
    ...{ model: "gpt-oss-20b", inputs: on(2, "rtx-5090", { weights: { dtype: "bf16", experts: { dtype: "mxfp4" } } }) },
    // 32 of 64 heads of 64, 4 of 8 KV heads; of each expert 1,440 of 2,880: 4 bits, and a byte for every 32
    weights:
      2 *
        (2 * 100_544 * 2880 +
          24 * (2 * 2880 * 2048 + 2 * 2880 * 256 + 2048 + 512 + 2880 + 32 + 32 * 2881 + 2 * 2880) +
          2880) +
      (24 * 32 * (3 * 2880 * 1440 + 2 * 1440 + 2880) * 17) / 32,
    request: 2 * 4 * 64 * 2 * (12 * 8192 + 12 * 128),
    requests: 245,
  },
  "Falcon-7B, 2 × RTX 3090: one KV head on both, 36 of 71 heads on the fuller": {
    ...{ model: "falcon-7b", inputs: on(2, "rtx-3090", { context: 2048 }) },
    weights: 2 * (32_512 * 4544 + 32 * (2 * 4544 * 2304 + 2 * 4544 * 64 + 2 * 4544 * 9088 + 2 * 4544) + 2 * 4544),
    request: 2048 * 32 * 2 * 64 * 2,
    requests: 1015,
  },
};

CASES["Llama-3-8B, 16 × H100, two groups of 8: twice as many as 8"] = {
  ...CASES["Llama-3-8B, 8 × H100, one group: a KV head each"],
  ...{ inputs: on(16, "h100-sxm", { tp: 8 }), requests: 2 * 581 },
};

test("weights, cache and requests of several GPUs are those counted by hand", () => {
  for (const [name, { model: id, inputs, weights, request, requests }] of Object.entries(CASES)) {
    const model = modelOf(id);
    const found = [
      weightsOnGpu(model, inputs).value,
      cacheOnGpu(model, inputs).value,
      mostRequests(model, inputs).value,
    ];
    assert.deepEqual(found, [weights, request, requests], name);
    const groups = inputs.gpus / (inputs.tp ?? inputs.gpus);
    assert.equal(groups * Math.floor((inputs.gpu.memory - weights) / request), requests, `${name}: by division`);
    assertOpens(weightsOnGpu(model, inputs));
    assertOpens(cacheOnGpu(model, inputs));
    assert.ok(fits(model, { ...inputs, requests }) && !fits(model, { ...inputs, requests: requests + 1 }), name);
  }
});

test("the parts of all GPUs hold the whole model, and no layout needs less than one copy", () => {
  for (const model of MODELS) {
    const whole = weightsOnGpu(model, on(1, "h100-sxm")).value;
    for (const gpus of [2, 6, 8]) {
      for (const tp of groupSizes(gpus)) {
        for (const experts of ["divided", "whole"]) {
          const inputs = on(gpus, "h100-sxm", { tp, experts });
          assert.ok(gpus * weightsOnGpu(model, inputs).value >= whole, `${model.name}: ${gpus}, ${tp}, ${experts}`);
          const cache = cacheOnGpu(model, on(1, "h100-sxm")).value;
          assert.ok(tp * cacheOnGpu(model, inputs).value >= cache, model.name);
        }
      }
    }
  }
});

test("a GPU reads its own part only, and time is that of the fullest", () => {
  const model = modelOf("llama-3-8b");
  const time = timePerToken(model, on(16, "h100-sxm", { requests: 100 }));
  const { weights, request } = CASES["Llama-3-8B, 16 × H100, one group: 8 KV heads, each on two GPUs"];
  assert.ok(Math.abs(time.value * 3.35e12 - (weights - 2 * 8016 * 4096 + 100 * request)) < 1e3);
  const [one, groups] = [{ tp: 16 }, { tp: 1 }].map((layout) => on(16, "h100-sxm", { requests: 32, ...layout }));
  assert.ok(stepBytes(model, groups).value > stepBytes(model, one).value, "each group reads all weights");
  assert.ok(stepFlops(model, groups).value > stepFlops(model, one).value * 0.95);
});

test("the fewest GPUs form a group that divides the heads, or are groups of the chosen size", () => {
  assert.equal(gpusForWeights(modelOf("llama-3-70b"), on(1, "h100-sxm")), 2);
  const model = modelOf("deepseek-v3");
  assert.equal(gpusForWeights(model, on(8, "h100-sxm", { weights: FP8 })), 16, "8 × 80 GB are too few");
  const replicated = on(8, "h200", { weights: FP8, requests: 1000, context: 100_000 });
  assert.equal(gpusNeeded(model, replicated), null, "each GPU would store all latent vectors");
  const apart = { ...replicated, tp: 1, experts: "whole" };
  const gpus = gpusNeeded(model, apart);
  assert.ok(fits(model, { ...apart, gpus }) && !fits(model, { ...apart, gpus: gpus - 1 }));
  assert.deepEqual(groupSizes(12), [12, 6, 4, 3, 2, 1]);
});

test("notes name what is stored several times", () => {
  const notes = (id, layout) => layoutNotes(modelOf(id), layout).join(" ");
  assert.match(notes("llama-3-8b", { gpus: 16 }), /8 KV heads .* 2 times/);
  assert.match(notes("deepseek-v3", { gpus: 8 }), /latent vectors/);
  assert.match(notes("llama-3-8b", { gpus: 3 }), /32 heads do not divide evenly into 3 parts/);
  assert.match(notes("deepseek-v3", { gpus: 8, tp: 1 }), /own copy/);
  assert.equal(notes("llama-3-8b", { gpus: 8 }) + notes("llama-3-8b", { gpus: 1 }), "");
});

test("decode with latent attention multiplies the stored vectors, and prefill K and V", () => {
  const model = modelOf("deepseek-v3");
  const per = (tokens) => stepFlops(model, on(1, "h200", { context: tokens })).value;
  assert.equal(per(2) - per(1), 61 * 2 * 128 * (576 + 512));
  const inputs = on(16, "h20", { requests: 256, context: 32_768, weights: FP8, tp: 1, experts: "whole" });
  assert.ok(fits(model, inputs));
  const [reads, computes] = [stepBytes(model, inputs).value / 4e12, stepComputeTime(model, inputs).value];
  // 16 requests on each GPU; with K and V themselves a pair would take 192 + 128 instead of 576 + 512
  const saved = (16 * 32_768 * 61 * 2 * 128 * (1088 - 320)) / 148e12;
  assert.ok(computes - saved < reads && reads < computes, "bandwidth would bind, and the peak does");
  assert.equal(expected(model, inputs)[0].bound, "peak");
});

test("a product has the peak of its format where the GPU multiplies it, and that of 16 bits where it only stores it", () => {
  const model = modelOf("llama-3-8b");
  const time = (gpu, weights, cache = weights) =>
    timeToFirstToken(model, 100, on(1, gpu, { weights: { dtype: weights }, cache: { dtype: cache } })).value;
  const ratio = (gpu, weights) => time(gpu, "bf16") / time(gpu, weights);
  const near = (value, wanted, why) => assert.ok(Math.abs(value / wanted - 1) < 1e-9, `${why}: ${value}`);
  near(ratio("h100-sxm", "fp8"), 1979 / 989, "H100 multiplies fp8");
  near(ratio("l4", "fp8"), 242 / 121, "L4 too");
  for (const gpu of ["a100-80gb", "rtx-3090", "t4", "a10"]) near(ratio(gpu, "fp8"), 1, `${gpu} has no fp8`);
  for (const gpu of ["h100-sxm", "b200", "a100-80gb"]) near(ratio(gpu, "int4"), 1, `${gpu}: int4 is converted`);
  near(ratio("a100-80gb", "fp32"), 19.5 / 312, "fp32 is slower");
  const parts = (gpu, weights, cache) => [time(gpu, weights, cache), time(gpu, weights), time(gpu, "bf16")];
  const [mixed, fast, slow] = parts("h100-sxm", "fp8", "bf16");
  assert.ok(fast < mixed && mixed < slow, "attention over a bf16 cache has the peak of bf16");
  const [int8, converted] = [time("a100-80gb", "int8", "bf16"), time("a100-80gb", "bf16")];
  assert.ok(int8 < converted);
  for (const weights of ["fp8", "nvfp4"]) {
    assertOpens(timeToFirstToken(model, 100, on(1, "b200", { weights: { dtype: weights } })));
  }
});
