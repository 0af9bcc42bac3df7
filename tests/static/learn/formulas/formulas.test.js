import assert from "node:assert/strict";
import { test } from "node:test";
import { layerFormulas, sizeFormulas } from "../../../../kvscope/static/learn/formulas/formulas.js";
import { described } from "../../../../kvscope/static/learn/reference/described.js";
import { gpuOf, modelOf } from "../../memory/known.js";
import { assertOpens } from "../../memory/opens.js";

const RUN = { n: 1000, k: 200, b: 2, gpu: gpuOf("h100-sxm") };
const sizesOf = (id) => Object.fromEntries(sizeFormulas(modelOf(id), RUN).map(({ id: of, result }) => [of, result]));
const formulasOf = (id) => Object.fromEntries(layerFormulas(described(modelOf(id))).map((each) => [each.id, each]));

test("the results are those of the model, and each opens to its arithmetic", () => {
  const results = sizesOf("llama-3-8b");
  const values = Object.fromEntries(Object.entries(results).map(([id, { value }]) => [id, value]));
  assert.equal(values.token, 131_072);
  assert.equal(values.request, 131_072 * 1200);
  assert.deepEqual([values.gqa, values.vector], [4, 256]);
  assert.equal(values.weights, 2 * 8_030_261_248);
  assert.deepEqual([values.with, values.without], [1199, 219_900]);
  assert.ok(Math.abs(values["step-time"] - values["step-bytes"] / RUN.gpu.bandwidth) < 1e-12);
  assert.ok(values["prefill-intensity"] > values["step-intensity"]);
  for (const result of Object.values(results)) assertOpens(result);
});

test("only estimates of times are marked as such", () => {
  const marked = Object.entries(sizesOf("llama-2-7b")).filter(([, { estimated }]) => estimated);
  assert.deepEqual(
    marked.map(([id]) => id),
    ["prefill-time", "step-time"],
  );
});

test("the formulas of a layer are those of the model's kind", () => {
  const llama = formulasOf("llama-3-8b");
  assert.equal(llama.norm.name, "RMSNorm");
  assert.match(llama.mlp.formula, /silu\(y·W_gate\) × y·W_up/);
  assert.match(llama.attention.says, /√d_head = 11\.31.*32 heads; each 4 of them read one of 8 KV heads/);
  const gpt2 = formulasOf("gpt2");
  assert.equal(gpt2.norm.name, "LayerNorm");
  assert.equal(gpt2.rope, undefined);
  assert.match(gpt2.mlp.formula, /gelu\(y·W_up\)·W_down/);
  assert.match(formulasOf("gemma-3-27b").attention.formula, /÷ √168/);
});
