import assert from "node:assert/strict";
import { test } from "node:test";
import { FAMILIES } from "../../../../kvscope/static/shared/sizes/families.js";
import { parameters } from "../../../../kvscope/static/shared/sizes/parameters.js";
import { GPUS, MODELS, modelOf, small } from "../../memory/known.js";
import { assertOpens } from "../../memory/opens.js";

const near = (value, wanted, share) => Math.abs(value - wanted) <= share * wanted;

test("the parameters counted are those that the models' makers state", () => {
  const stated = MODELS.filter((model) => model.stated);
  assert.ok(stated.length >= 10);
  for (const model of stated) {
    const { total, active } = parameters(model);
    assert.ok(near(total.value, model.stated.total, 0.02), `${model.name}: ${total.value}`);
    if (model.stated.active === null) continue;
    // Some count the embedding table among the active ones and some do not.
    const either = [active.value, active.value - model.vocab * model.d];
    assert.ok(
      either.some((value) => near(value, model.stated.active, 0.03)),
      `${model.name}: ${either}`,
    );
  }
});

test("a model of two layers is counted by hand", () => {
  const layer = 2 * 8 * 8 + 2 * 8 * 4 + 3 * 8 * 16 + 2 * 8;
  assert.equal(parameters(small()).total.value, 10 * 8 + 2 * layer + 8);
  assert.equal(parameters(small({ tied: false })).total.value, 2 * 10 * 8 + 2 * layer + 8);
});

test("a dense model uses all that it has, and one of experts less", () => {
  const dense = parameters(modelOf("llama-3-8b"));
  assert.equal(dense.active.value, dense.total.value);
  assert.equal(dense.experts, null);
  const sparse = parameters(modelOf("deepseek-v3"));
  assert.equal(sparse.total.value, 671_026_404_352);
  assert.equal(sparse.total.value - sparse.active.value, (sparse.experts.value / 256) * 248);
});

test("a sum leaves out what a model has none of", () => {
  const sum = "embedding + attention + norms + final norm";
  assert.equal(parameters(modelOf("gemma-2-2b")).total.formula, `${sum} + MLPs`);
  assert.equal(parameters(modelOf("mixtral-8x7b")).total.formula, `${sum} + routers + LM head + experts`);
  const all = `${sum} + MLPs + routers + shared experts + LM head + experts`;
  assert.equal(parameters(modelOf("deepseek-v3")).total.formula, all);
});

test("counts open to their arithmetic", () => {
  for (const model of MODELS) {
    const { total, active } = parameters(model);
    for (const result of [total, active]) assertOpens(result);
  }
});

test("every model and GPU has all its figures, and where they were read", () => {
  assert.ok(MODELS.length >= 12);
  assert.ok(GPUS.length >= 8);
  for (const entries of [MODELS, GPUS]) assert.equal(new Set(entries.map(({ id }) => id)).size, entries.length);
  for (const { name, sources } of [...MODELS, ...GPUS]) {
    assert.ok(sources.length > 0 && sources.every((source) => source.startsWith("https://")), name);
  }
  for (const { name, memory, bandwidth, flops, flops_of: of } of GPUS) {
    assert.ok([memory, bandwidth, flops].every(Number.isSafeInteger), name);
    assert.match(of, /^dense /, name);
  }
  for (const { name, family, layers, heads, kv_heads: kvHeads, window } of MODELS) {
    assert.ok(Object.hasOwn(FAMILIES, family), name);
    assert.equal(heads % kvHeads, 0, name);
    assert.ok(!window || window.layers.every((layer) => layer < layers), name);
  }
  const attention = ({ heads, kv_heads: kv }) => (kv === heads ? "MHA" : kv === 1 ? "MQA" : "GQA");
  assert.deepEqual([...new Set(MODELS.map(attention))].sort(), ["GQA", "MHA", "MQA"]);
  for (const part of ["mla", "window", "moe"])
    assert.ok(
      MODELS.some((model) => model[part]),
      part,
    );
});
