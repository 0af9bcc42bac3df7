import assert from "node:assert/strict";
import { test } from "node:test";
import {
  attainable,
  parametersRead,
  prefillFlops,
  prefillIntensity,
  stepBytes,
  stepFlops,
  stepIntensity,
  timePerToken,
  timeToFirstToken,
} from "../../../../kvscope/static/shared/sizes/speed.js";
import { gpuOf, MODELS, modelOf, small } from "../../memory/known.js";
import { assertOpens } from "../../memory/opens.js";

const FP16 = { dtype: "fp16" };
const H100 = gpuOf("h100-sxm");
const LLAMA = modelOf("llama-3-8b");

const inputs = (changes = {}) => ({
  ...{ context: 8192, requests: 1, prefix: 0, cache: FP16, weights: FP16, gpus: 1, gpu: H100 },
  ...changes,
});

/** Of `small()`: tests/static/shared/sizes/parameters.test.js counts them by hand. */
const SMALL_PARAMETERS = 1272;

const near = (value, wanted) => assert.ok(Math.abs(value - wanted) <= 1e-9 * wanted, `${value}, not ${wanted}`);

test("a step reads the weights once and the cache of each request", () => {
  const read = 2 * (8_030_261_248 - 128_256 * 4096);
  assert.equal(stepBytes(LLAMA, inputs()).value, read + 1_073_741_824);
  assert.equal(stepBytes(LLAMA, inputs({ requests: 10 })).value, read + 10 * 1_073_741_824);
  assert.equal(stepBytes(LLAMA, inputs({ requests: 10, prefix: 8000 })).value, read + 10 * 1_073_741_824);
});

test("a table that is the LM head too is read whole", () => {
  assert.equal(parametersRead(modelOf("gpt2"), 1).all.value, 124_439_808);
});

test("of experts a step reads those chosen, and more requests choose more", () => {
  const mixtral = modelOf("mixtral-8x7b");
  const read = (requests) => parametersRead(mixtral, requests).all.value;
  near(read(1), 12_879_925_248 - 32_000 * 4096);
  near(read(2), read(1) + (6 / 8) * 2 * 32 * 3 * 4096 * 14_336);
  assert.ok(read(8) < read(9));
  near(read(1000), 46_702_792_704 - 32_000 * 4096);
});

test("the time of a token is bytes by bandwidth, and GPUs share it", () => {
  const one = timePerToken(LLAMA, inputs());
  near(one.value, (2 * (8_030_261_248 - 128_256 * 4096) + 1_073_741_824) / 3.35e12);
  const norms = 65 * 4096; // on every GPU
  const quarter = (8_030_261_248 - 128_256 * 4096 - norms) / 4 + norms;
  near(timePerToken(LLAMA, inputs({ gpus: 4 })).value, (2 * quarter + 1_073_741_824 / 4) / 3.35e12);
  assert.equal(one.estimated, true);
  assert.ok(one.value > 0.004 && one.value < 0.006, "about 5 ms");
});

test("prefill multiplies every weight by every token, and attention grows with the square", () => {
  const model = small();
  const weights = 2 * SMALL_PARAMETERS;
  assert.equal(prefillFlops(model, 1).value, weights + 2 * 32);
  assert.equal(prefillFlops(model, 10).value, 10 * weights + 2 * 55 * 32);
  const attention = (prompt) => prefillFlops(model, prompt).value - prompt * weights;
  assert.ok(attention(2000) / attention(1000) > 3.99);
});

test("a window bounds attention by the tokens that it sees", () => {
  const model = small({ window: { tokens: 3, layers: [1] } });
  for (let prompt = 1; prompt <= 12; prompt++) {
    let [all, seen] = [0, 0];
    for (let query = 1; query <= prompt; query++) {
      all += query;
      seen += Math.min(query, 3);
    }
    assert.equal(prefillFlops(model, prompt).value, prompt * 2 * SMALL_PARAMETERS + (all + seen) * 32);
    assert.equal(
      stepFlops(model, inputs({ context: prompt })).value,
      2 * SMALL_PARAMETERS + (prompt + Math.min(prompt, 3)) * 32,
    );
  }
});

test("prefill is the steps of its tokens taken together, but for latent attention", () => {
  for (const model of MODELS.filter(({ mla }) => !mla)) {
    let flops = 0;
    for (let context = 1; context <= 50; context++) flops += stepFlops(model, inputs({ context })).value;
    near(prefillFlops(model, 50).value, flops);
  }
});

test("the time to the first token is operations by peak", () => {
  const time = timeToFirstToken(LLAMA, 8192, inputs());
  const attention = 32 * ((8192 * 8193) / 2) * 4 * 32 * 128;
  near(time.value, (2 * 8_030_261_248 * 8192 + attention) / 989e12);
  assert.equal(time.estimated, true);
  const norms = 65 * 4096; // on every GPU
  const eighth = (8_030_261_248 - norms) / 8 + norms;
  near(timeToFirstToken(LLAMA, 8192, inputs({ gpus: 8 })).value, (2 * eighth * 8192 + attention / 8) / 989e12);
});

test("decode is bound by memory and prefill by the peak", () => {
  const ridge = H100.flops / H100.bandwidth;
  const [decode, prefill] = [stepIntensity(LLAMA, inputs()), prefillIntensity(LLAMA, 8192, inputs())];
  assert.ok(decode.value < 2 && prefill.value > ridge);
  assert.ok(attainable(decode.value, H100).value < 0.01 * H100.flops);
  assert.equal(attainable(prefill.value, H100).value, H100.flops);
  near(attainable(ridge / 2, H100).value, H100.flops / 2);
  assert.ok(stepIntensity(LLAMA, inputs({ requests: 64 })).value > 10 * decode.value, "a batch shares the weights");
});

test("every estimate says what it assumes and opens to its arithmetic", () => {
  for (const model of MODELS) {
    const [token, first] = [timePerToken(model, inputs({ requests: 5 })), timeToFirstToken(model, 4000, inputs())];
    for (const result of [token, first]) {
      assert.ok(result.estimated && result.assumes.length >= 2);
      assertOpens(result);
    }
    assert.equal(
      token.assumes.some((sentence) => sentence.includes("experts")),
      model.moe !== null,
    );
    assertOpens(stepIntensity(model, inputs()));
    assertOpens(prefillIntensity(model, 100, inputs()));
  }
  assertOpens(attainable(10, H100));
});
