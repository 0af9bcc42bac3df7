import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../../static/memory/config.js";
import { FAMILIES, layerOf } from "../../../static/memory/families.js";
import { requestBytes } from "../../../static/memory/sizes.js";
import { CONFIGS } from "./configs.js";
import { modelOf } from "./known.js";

const pasted = (config) => readConfig(JSON.stringify(config));

function modelIn(config) {
  const read = pasted(config);
  assert.ok("model" in read, JSON.stringify(read));
  return read.model;
}

test("a published config reads as the model that the list has", () => {
  for (const [id, config] of Object.entries(CONFIGS)) {
    const { model } = pasted(config);
    const { id: _id, sources, stated, ...listed } = modelOf(id);
    const layer = layerOf(FAMILIES[listed.family]);
    assert.deepEqual(model, { ...listed, name: "", layer }, id);
  }
});

test("nothing is assumed of a family that is known", () => {
  for (const [id, config] of Object.entries(CONFIGS)) {
    assert.equal(pasted(config).notes.length, id === "deepseek-v3" ? 2 : 0, id);
  }
});

test("notes on quantized weights and multi-token prediction", () => {
  const { notes } = pasted(CONFIGS["deepseek-v3"]);
  assert.match(notes[0], /quantized weights/);
  assert.match(notes[1], /num_nextn_predict_layers/);
});

test("K/V heads and the size of a head may be left out", () => {
  const { num_key_value_heads: _heads, ...rest } = CONFIGS["llama-3-8b"];
  assert.equal(modelIn(rest).kv_heads, 32);
  assert.equal(modelIn(rest).head_dim, 128);
  assert.equal(modelIn({ ...rest, head_dim: 64 }).head_dim, 64);
  assert.equal(modelIn({ ...rest, head_dim: null, max_position_embeddings: null }).context, null);
  const { head_dim: _dim, ...qwen } = CONFIGS["qwen3-0.6b"];
  assert.equal(modelIn(qwen).head_dim, 128, "not 1024 ÷ 16");
  const { head_dim: _same, ...gemma } = CONFIGS["gemma-2-9b"];
  assert.equal(modelIn(gemma).head_dim, 256, "not 3584 ÷ 16");
});

test("a window is where the family has it", () => {
  const { sliding_window: _window, ...mistral } = CONFIGS["mistral-7b-v0.1"];
  assert.equal(modelIn(mistral).window.tokens, 4096, "left out");
  assert.equal(modelIn({ ...mistral, sliding_window: null }).window, null);
  assert.equal(modelIn({ ...CONFIGS["llama-3-8b"], sliding_window: 4096 }).window, null, "not a field of Llama's");

  const qwen = { ...CONFIGS["qwen2.5-72b"], sliding_window: 4096, max_window_layers: 78 };
  assert.equal(modelIn(qwen).window, null, "use_sliding_window is false");
  assert.deepEqual(modelIn({ ...qwen, use_sliding_window: true }).window, { tokens: 4096, layers: [78, 79] });
  assert.equal(modelIn({ ...qwen, use_sliding_window: true, max_window_layers: 80 }).window, null);
});

test("layer_types decides which layers have a window", () => {
  const layer_types = ["full_attention", "sliding_attention", "full_attention"];
  const gemma = { ...CONFIGS["gemma-2-9b"], num_hidden_layers: 3, layer_types };
  assert.deepEqual(modelIn(gemma).window, { tokens: 4096, layers: [1] });
  assert.equal(modelIn({ ...gemma, layer_types: layer_types.map(() => "full_attention") }).window, null);
  const problem = (types) => pasted({ ...gemma, layer_types: types }).problem;
  assert.match(
    problem(["linear_attention", ...layer_types.slice(1)]).text,
    /linear_attention, a kind of layer whose cache/,
  );
  assert.match(problem(layer_types.slice(1)).text, /a list of 3 names/);
  assert.equal(problem("sliding_attention").field, "layer_types");
});

test("the text model inside a multimodal one is read, with a note", () => {
  const text_config = {
    model_type: "gemma3_text",
    hidden_size: 2560,
    intermediate_size: 10_240,
    num_hidden_layers: 34,
  };
  const { model, notes } = pasted({ model_type: "gemma3", text_config: { ...text_config, sliding_window: 1024 } });
  assert.deepEqual([model.heads, model.kv_heads, model.head_dim, model.vocab], [8, 4, 256, 262_208]);
  assert.deepEqual([model.window.tokens, model.window.layers.length], [1024, 29]);
  assert.match(notes[0], /Only the text model/);
  assert.equal(
    modelIn({ model_type: "gemma3", text_config: { ...text_config, model_type: undefined } }).family,
    "gemma3_text",
  );
});

test("Falcon's K/V heads count only in its newer architecture", () => {
  const older = { ...CONFIGS["falcon-7b"], num_kv_heads: 71 };
  assert.equal(modelIn(older).kv_heads, 1);
  assert.equal(modelIn({ ...older, multi_query: false }).kv_heads, 71);
  const newer = { ...older, hidden_size: 8192, n_head: 128, num_kv_heads: 8, new_decoder_architecture: true };
  assert.deepEqual([modelIn(newer).kv_heads, modelIn(newer).layer.norms], [8, 2]);
});

test("an unknown family with the fields of Llama is read as Llama, with a note", () => {
  const { model, notes } = pasted({ ...CONFIGS["llama-3-8b"], model_type: "novel" });
  assert.deepEqual(model, modelIn(CONFIGS["llama-3-8b"]));
  assert.match(notes[0], /"novel" is unknown\. It is read as a Llama model/);
  const { model_type: _kind, ...unnamed } = CONFIGS["llama-3-8b"];
  assert.match(pasted(unnamed).notes[0], /does not name its family/);
  assert.equal(requestBytes(model, 8192, { dtype: "fp16" }).value, 1_073_741_824);
});

test("an unknown family with another cache is refused", () => {
  const novel = { ...CONFIGS["llama-3-8b"], model_type: "novel" };
  const refused = (changes) => pasted({ ...novel, ...changes }).problem;
  assert.equal(refused({ kv_lora_rank: 512 }).field, "kv_lora_rank");
  assert.equal(refused({ attn_layer_period: 8 }).field, "attn_layer_period");
  assert.equal(refused({ num_experts_per_tok: 2, num_experts: 8 }).field, "num_experts");
  assert.equal(refused({ is_encoder_decoder: true }).field, "is_encoder_decoder");
  assert.equal(refused({ sliding_window: 4096 }).field, "sliding_window");
  assert.match(refused({ layer_types: ["full_attention"] }).text, /Known families: llama,/);
  assert.match(pasted({ model_type: "bert", hidden_layers: 3 }).problem.text, /because num_hidden_layers is missing/);
  assert.match(pasted({ model_type: "__proto__" }).problem.text, /is unknown/);
  assert.match(pasted({ model_type: "constructor" }).problem.text, /is unknown/);
});
