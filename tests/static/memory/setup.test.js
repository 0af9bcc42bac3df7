import assert from "node:assert/strict";
import { test } from "node:test";
import { FIRST } from "../../../kvscope/static/memory/address.js";
import { DTYPES, readSetup, WEIGHTS } from "../../../kvscope/static/memory/setup.js";
import { CONFIGS } from "./configs.js";
import { GPUS, MODELS } from "./known.js";

const KNOWN = { models: MODELS, gpus: GPUS };
const setupWith = (changes) => readSetup({ ...FIRST, ...changes }, KNOWN);
const problemOf = (changes) => {
  const answer = setupWith(changes);
  assert.ok("problem" in answer, JSON.stringify(changes));
  return answer.problem;
};

test("the first inputs are valid", () => {
  const { setup } = setupWith({});
  assert.equal(setup.model.name, "Llama-3-8B");
  const { requests, context, prefix, gpus, cache, weights, gpu } = setup.inputs;
  assert.deepEqual([requests, context, prefix, gpus, gpu.id], [8, 8192, 0, 1, "h100-sxm"]);
  for (const stored of [cache, weights]) assert.deepEqual(stored, { dtype: "bf16", group: 0 });
});

test("a number may have separators, and a dtype may have scales", () => {
  const { inputs } = setupWith({ context: " 131,072 ", requests: "1_000", cache: "int4-32" }).setup;
  assert.deepEqual([inputs.context, inputs.requests, inputs.cache], [131_072, 1000, { dtype: "int4", group: 32 }]);
  assert.ok(DTYPES.includes("int8-128") && !DTYPES.includes("fp32-32"));
});

test("a problem names the field whose text is not a number", () => {
  for (const text of ["", "abc", "NaN", "1.5", "-3", "1e12", "Infinity", "٣", "8,", "0x10"]) {
    const { field, text: sentence } = problemOf({ context: text });
    assert.equal(field, "context");
    assert.match(sentence, text ? /is not a whole number/ : /enter a whole number/);
  }
  assert.match(problemOf({ requests: "0" }).text, /at least 1/);
  assert.match(problemOf({ context: "1000000000000" }).text, /at most 100,000,000/);
  assert.match(problemOf({ context: "9".repeat(400) }).text, /whole number|at most/);
  assert.equal(problemOf({ prefix: "9000" }).field, "prefix");
  assert.ok(problemOf({ gpus: "x".repeat(500) }).text.length < 120);
});

test("a problem names the field of an unknown model, GPU or dtype", () => {
  for (const field of ["model", "gpu", "cache", "weights"]) {
    for (const text of ["nope", "__proto__", "bf16-32", "toString"])
      assert.equal(problemOf({ [field]: text }).field, field);
  }
});

test("a config replaces the model, and a wrong one is a problem", () => {
  const { setup } = setupWith({ config: JSON.stringify(CONFIGS["llama-3-8b"]), model: "nope" });
  assert.deepEqual([setup.model.name, setup.model.kv_heads], ["Your model", 8]);
  assert.equal(problemOf({ config: "{" }).field, "config");
});

test("GPUs form groups whose size divides them, and one GPU is a group whatever was chosen", () => {
  const layout = (changes) => {
    const { tp, experts } = setupWith(changes).setup.inputs;
    return [tp, experts];
  };
  assert.deepEqual(layout({ gpus: "16" }), [16, "divided"]);
  assert.deepEqual(layout({ gpus: "16", tp: "8", experts: "whole" }), [8, "whole"]);
  assert.deepEqual(layout({ gpus: "1", tp: "8" }), [1, "divided"]);
  for (const tp of ["3", "0", "-2", "32", "1.5", "__proto__", ""])
    assert.equal(problemOf({ gpus: "16", tp }).field, "tp");
  assert.equal(problemOf({ experts: "some" }).field, "experts");
});

test("a GPU of one's own has the numbers that were entered, and a wrong one is named", () => {
  const own = { gpu: "own", memory: "24", bandwidth: "1,008", peak: "82.58" };
  const { gpu } = setupWith(own).setup.inputs;
  assert.deepEqual([gpu.memory, gpu.bandwidth, gpu.flops], [24e9, 1008e9, 82.58e12]);
  for (const field of ["memory", "bandwidth", "peak"]) {
    for (const text of ["", "0", "-1", "1e3", "abc", "Infinity", "1".repeat(30)]) {
      assert.equal(problemOf({ ...own, [field]: text }).field, field, text);
    }
  }
  assert.equal(problemOf({ ...own, memory: "999999999" }).field, "memory", "beyond the limits");
});

test("weights may have their experts in another format", () => {
  const { weights } = setupWith({ model: "gpt-oss-20b", weights: "bf16+mxfp4" }).setup.inputs;
  assert.deepEqual(weights, { dtype: "bf16", group: 0, experts: { dtype: "mxfp4", group: 0 } });
  assert.equal(problemOf({ cache: "bf16+mxfp4" }).field, "cache");
  for (const model of MODELS) assert.ok(!model.published || WEIGHTS.includes(model.published), model.name);
});
