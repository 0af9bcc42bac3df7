import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../../kvscope/static/memory/config.js";
import { BITS } from "../../../kvscope/static/shared/sizes/dtypes.js";
import { cacheBytesPerToken, weightBytes } from "../../../kvscope/static/shared/sizes/sizes.js";
import { CONFIGS } from "./configs.js";

function refused(text) {
  const read = readConfig(text);
  assert.ok("problem" in read, text.slice(0, 200));
  const { field, text: sentence } = read.problem;
  assert.ok(field.length > 0 && sentence.endsWith(".") && sentence.length < 300, sentence);
  return read.problem;
}

const pasted = (config) => refused(JSON.stringify(config));

test("what is not an object of JSON is refused", () => {
  const noJson = ["", " ", "{", "{'a': 1}", '{"hidden_size": NaN}', '{"hidden_size": Infinity}', "hidden_size: 8"];
  for (const text of noJson) assert.match(refused(text).text, /^The text is not JSON/);
  for (const text of ["[]", "null", "1", '"{}"', "true", "[{}]"]) {
    assert.match(refused(text).text, /^config.json is .*; it must be an object/);
  }
  assert.match(refused("{}").text, /does not name its family/);
  assert.match(refused(`{"a": "${"a".repeat(200_000)}"}`).text, /at most 200,000 are allowed/);
});

test("an object in an object in an object does no harm", () => {
  const depth = 30_000;
  assert.match(refused(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`).text, /does not name its family|not JSON/);
  const nested = `{"model_type":"llama","hidden_size":${"[".repeat(depth)}${"]".repeat(depth)}}`;
  refused(nested);
  const wrapped = Array.from({ length: 6 }).reduce((inner) => ({ text_config: inner }), CONFIGS["llama-3-8b"]);
  assert.equal(pasted(wrapped).field, "text_config.model_type");
  assert.equal(pasted({ text_config: [CONFIGS["llama-3-8b"]] }).field, "text_config");
});

const WRONG = [
  ...["32", "", [32], [], {}, true, -1, 0, -0, 1.5, 1e308, -1e308, 5e-324, 2 ** 53, 1e9, "__proto__"],
  ...["9".repeat(400), { valueOf: 32 }],
];

test("sizes that contradict each other are refused, and the sentence has both", () => {
  const said = (id, changes) => pasted({ ...CONFIGS[id], ...changes }).text;
  assert.match(said("llama-3-8b", { num_key_value_heads: 5 }), /is 5, which does not divide the 32 query heads/);
  assert.match(said("llama-3-8b", { num_key_value_heads: 64 }), /is 64, which does not divide the 32/);
  const heads = { num_attention_heads: 33, num_key_value_heads: 33 };
  assert.match(said("llama-3-8b", heads), /\(33\) does not divide the width 4096/);
  assert.match(said("mixtral-8x7b", { num_experts_per_tok: 9 }), /is 9, but the model has 8 experts/);
  assert.match(said("deepseek-v3", { first_k_dense_replace: 62 }), /is 62, but the model has 61 layers/);
  assert.match(said("deepseek-v3", { moe_layer_freq: 2 }), /only some of the later layers/);
  assert.match(said("llama-3-8b", { tie_word_embeddings: "no" }), /must be true or false/);
});

test("sizes that are each possible but make no model together are refused", () => {
  const huge = { num_hidden_layers: 10_000, hidden_size: 1_000_000, intermediate_size: 1_000_000 };
  assert.match(pasted({ ...CONFIGS["llama-3-8b"], ...huge, head_dim: 1_000_000 }).text, /more than 9 PB/);
});

/** The same numbers each time (Lehmer). */
function chance(seed) {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

test("a config with any field changed is either read into whole sizes or refused", () => {
  const below = chance(7);
  const values = [...WRONG, null, 1, 2, 3, 8, 64, 128, 1000, false, "sliding_attention", ["full_attention"]];
  let read = 0;
  for (const config of Object.values(CONFIGS)) {
    for (let round = 0; round < 150; round++) {
      const changed = { ...config };
      for (let change = below(3); change >= 0; change--) {
        const fields = Object.keys(changed);
        changed[fields[below(fields.length)]] = values[below(values.length)];
      }
      const found = readConfig(JSON.stringify(changed));
      if ("problem" in found) continue;
      read += 1;
      for (const dtype of Object.keys(BITS)) {
        const sizes = [cacheBytesPerToken(found.model, { dtype }), weightBytes(found.model, { dtype })];
        const least = found.model.linear?.layers === found.model.layers ? 0 : 1;
        for (const { value } of sizes)
          assert.ok(Number.isSafeInteger(value) && value >= least, JSON.stringify(changed));
      }
    }
  }
  assert.ok(read > 300);
});
