import assert from "node:assert/strict";
import { test } from "node:test";
import { bestGuesses, flowOf, partsOf } from "../../../../../kvscope/static/stage/views/model/facts.js";
import { pluck } from "../../../support/lists.js";
import { LIKE_GPT2, LIKE_LLAMA, madeRun } from "../../../support/made-run.js";
import { token } from "../../../support/wire.js";

const SMOLLM2 = {
  ...{ ...LIKE_LLAMA, layers: 30, heads: 9, kv_heads: 3, head_dim: 64, d: 576, d_mlp: 1536 },
  ...{ vocab: 49152, context: 8192, parameters: 134_515_008 },
};

test("the parts of SmolLM2-135M, as its tensors have them", () => {
  const parts = partsOf(SMOLLM2);
  assert.equal(parts.tied, true);
  assert.deepEqual([parts.embedding, parts.norm, parts.head], [28_311_552, 576, 0]);
  assert.deepEqual([parts.attention, parts.mlp, parts.small], [884_736, 2_654_208, 2 * 576]);
  assert.equal(parts.embedding + parts.blocks + parts.norm, SMOLLM2.parameters);
});

test("GPT-2 has learned positions, two MLP matrices and biases (124,439,808 parameters)", () => {
  const sizes = { layers: 12, heads: 12, kv_heads: 12, head_dim: 64, d: 768, d_mlp: 3072, vocab: 50257, context: 1024 };
  const parts = partsOf({ ...LIKE_GPT2, ...sizes, parameters: 124_439_808 });
  assert.deepEqual([parts.positions, parts.mlp, parts.tied], [1024 * 768, 2 * 768 * 3072, true]);
  // Two LayerNorms with gain and bias, and the biases of qkv, out, up and down.
  assert.equal(parts.small, 4 * 768 + 3 * 768 + 768 + 3072 + 768);
});

test("an LM head of its own is a part", () => {
  const untied = { ...SMOLLM2, tied: false, parameters: SMOLLM2.parameters + 49152 * 576 };
  const parts = partsOf(untied);
  assert.deepEqual([parts.tied, parts.head, parts.small], [false, 49152 * 576, 2 * 576]);
});

test("matrices and the embedding may be kept in fewer bytes than norms, biases and positions", () => {
  const [norms, blocks] = [2 * 576, 30 * (884_736 + 2_654_208)];
  const before = partsOf(SMOLLM2).bytes;
  assert.deepEqual(before, { embedding: 4 * 28_311_552, blocks: 4 * (blocks + 30 * norms), norm: 4 * 576, head: 0 });
  const halved = partsOf({ ...SMOLLM2, weight_dtype: "bfloat16" }).bytes;
  const expected = { embedding: 2 * 28_311_552, blocks: 2 * blocks + 4 * 30 * norms, norm: 4 * 576, head: 0 };
  assert.deepEqual(halved, expected);
});

test("weights in groups have no size of each part", () => {
  const held = { "4-bit groups": 66_355_200, "8-bit groups": 30_081_024 };
  assert.equal(partsOf({ ...SMOLLM2, weight_bytes: 538_060_032, weights: { held } }).bytes, null);
});

const run = madeRun({ words: ["a", "b", "c", "d", "e"], promptLength: 3 });

test("prefill feeds every prompt row, decode one, with the others cached", () => {
  assert.deepEqual(flowOf(run, 0), { rows: 3, cached: 0, first: 0, passes: 1, inherited: false });
  assert.deepEqual(flowOf(run, 2), { rows: 1, cached: 4, first: 4, passes: 1, inherited: false });
});

test("a twin without a cache feeds all rows again, a forgetful one sees none before", () => {
  const again = {
    ...run,
    steps: run.steps.map((step) => ({ ...step, data: { ...step.data, rows_computed: step.firstQuery + step.rows } })),
  };
  assert.deepEqual(flowOf(again, 2), { rows: 5, cached: 0, first: 0, passes: 1, inherited: false });
  const forgetful = { ...run, open: { ...run.open, study: { kind: "twin", cache: "forgotten" } } };
  assert.deepEqual(flowOf(forgetful, 2), { rows: 1, cached: 0, first: 4, passes: 1, inherited: false });
});

test("the largest shares of the vocabulary, with the chosen token always among them", () => {
  const step = {
    topLogits: Float32Array.from([3, 2, 1]),
    data: {
      log_z: 4,
      top_tokens: [token("x", 7), token("y", 8), token("z", 9)],
      token: { ...token("y", 8), raw_prob: Math.exp(-2) },
    },
  };
  const best = bestGuesses(step, 2);
  assert.deepEqual([...pluck(pluck(best, "token"), "id"), ...pluck(best, "chosen")], [7, 8, false, true]);
  assert.ok(Math.abs(best[0].prob - Math.exp(-1)) < 1e-6);
  const far = bestGuesses({ ...step, data: { ...step.data, token: { ...token("w", 70), raw_prob: 0.001 } } }, 2);
  assert.deepEqual(far.map(({ token: { id }, prob, chosen }) => [id, prob, chosen]).at(-1), [70, 0.001, true]);
});
