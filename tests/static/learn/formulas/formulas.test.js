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
  assert.match(formulasOf("gemma-3-27b").mlp.formula, /^x \+ norm\(\(gelu/);
});

test("a model that caps scores and logits has the caps in its formulas", () => {
  const gemma2 = formulasOf("gemma-2-27b");
  assert.match(gemma2.attention.formula, /softmax\(50 × tanh\(Q·Kᵀ ÷ √144 ÷ 50\) \+ M\)·V/);
  assert.match(gemma2.next.formula, /softmax\(30 × tanh\(norm\(x\)·W_lm ÷ 30\) ÷ temperature\)/);
  assert.doesNotMatch(formulasOf("llama-3-8b").next.formula, /tanh/);
});

test("a model whose halves read the same row, and that rotates a part of each head, has formulas that say so", () => {
  const kind = { norm: "layer", positions: "rotary", gated: false, activation: "gelu_erf", post_norms: false };
  const sizes = { layers: 6, d: 512, d_mlp: 2048, heads: 8, kv_heads: 8, head_dim: 64, score_width: 64, vocab: 50304 };
  const pythia = layerFormulas({ ...kind, ...sizes, parallel: true, rotary_dim: 16 });
  const { mlp, rope } = Object.fromEntries(pythia.map((each) => [each.id, each]));
  assert.equal(mlp.formula, "x + a + gelu(y·W_up)·W_down");
  assert.match(mlp.says, /y: the row x before attention/);
  assert.match(rope.formula, /θ\^\(−i ÷ 8\)/);
  assert.match(rope.says, /32 pairs, of which the first 8 are rotated/);
});
