import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMITS, problemOf } from "../../../kvscope/static/memory/limits.js";
import { batchBytes, weightBytes } from "../../../kvscope/static/shared/sizes/sizes.js";
import { gpuOf, MODELS, modelOf } from "./known.js";

const LLAMA = modelOf("llama-3-8b");
const INPUTS = {
  ...{ context: 8192, requests: 4, prefix: 0, gpus: 1, gpu: gpuOf("h100-sxm") },
  ...{ cache: { dtype: "fp16" }, weights: { dtype: "bf16", group: 0 } },
};

const problem = (changes, model = LLAMA) => problemOf({ ...INPUTS, ...changes }, model);

test("what makes sense is taken, up to each limit", () => {
  assert.equal(problem({}), null);
  assert.equal(problem({ context: LIMITS.context, requests: 1 }), null);
  assert.equal(problem({ requests: LIMITS.requests, context: 1000 }), null);
  assert.equal(problem({ prefix: 8192 }), null);
  for (const model of MODELS) assert.equal(problem({}, model), null, model.name);
});

test("what is no number that can be counted with is refused by name", () => {
  for (const field of ["context", "requests", "prefix", "gpus"]) {
    const wrong = ["8192", "", null, undefined, NaN, Infinity, -1, 1.5, [], {}, true, LIMITS[field] + 1, 1e12, 1e308];
    for (const value of wrong) {
      const { field: named, text } = problem({ [field]: value });
      assert.equal(named, field, `${field}: ${value}`);
      assert.match(text, /^[A-Z].*\.$/);
    }
  }
  assert.match(problem({ context: 0 }).text, /^Tokens each: 0 is too small; it must be at least 1\.$/);
  assert.match(problem({ context: 1e12 }).text, /must be at most 100,000,000\./);
  assert.equal(problem({ gpu: { ...INPUTS.gpu, memory: -80e9 } }).field, "memory");
  assert.equal(problem({ gpu: { ...INPUTS.gpu, bandwidth: 0 } }).field, "bandwidth");
});

test("a prefix is a part of the context", () => {
  assert.deepEqual(problem({ prefix: 8193 }), {
    field: "prefix",
    text: "The shared prefix (8,193) is longer than the context (8,192).",
  });
});

test("a dtype is one of those known, and a scale is for so many numbers", () => {
  assert.match(
    problem({ cache: { dtype: "fp7" } }).text,
    /^fp7 is not one of fp32, bf16, fp16, fp8, int8, int4, mxfp4, nvfp4\.$/,
  );
  assert.equal(problem({ weights: { dtype: "constructor" } }).field, "weights");
  assert.match(problem({ cache: { dtype: "int4", group: 48 } }).text, /0, 32, 64, 128/);
});

test("what is within each limit and too much together is refused: what is left is exact", () => {
  const most = { context: LIMITS.context, requests: LIMITS.requests };
  assert.equal(problem(most).field, "requests");
  for (const model of MODELS) {
    let requests = LIMITS.requests;
    while (problem({ context: LIMITS.context, requests }, model)) requests = Math.floor(requests / 2);
    const bytes = batchBytes(model, { ...INPUTS, context: LIMITS.context, requests }, INPUTS.cache).value;
    assert.ok(Number.isSafeInteger(bytes + weightBytes(model, INPUTS.weights).value), model.name);
  }
});
