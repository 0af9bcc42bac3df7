import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../../kvscope/static/memory/config.js";
import { FAMILIES, layerOf } from "../../../kvscope/static/shared/sizes/families.js";
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
    const { id: _id, sources, stated, published, ...listed } = modelOf(id);
    const layer = layerOf(FAMILIES[listed.family]);
    const { max_position_embeddings: context = listed.context } = config;
    assert.deepEqual(model, { ...listed, name: "", layer, context }, id);
  }
});

test("nothing is assumed of a family that is known", () => {
  for (const [id, config] of Object.entries(CONFIGS)) {
    const said = ["quantization_config", "num_nextn_predict_layers"].filter((field) => field in config);
    assert.equal(pasted(config).notes.length, said.length, id);
  }
});

test("notes on quantized weights and multi-token prediction", () => {
  const { notes } = pasted(CONFIGS["deepseek-v3"]);
  assert.match(notes[0], /quantized weights/);
  assert.match(notes[1], /num_nextn_predict_layers/);
});

test("layer_types decides which layers have a window", () => {
  const layer_types = ["full_attention", "sliding_attention", "full_attention"];
  const gemma = { ...CONFIGS["gemma-2-9b"], num_hidden_layers: 3, layer_types };
  assert.deepEqual(modelIn(gemma).window, { tokens: 4096, layers: [1] });
  assert.equal(modelIn({ ...gemma, layer_types: layer_types.map(() => "full_attention") }).window, null);
  const problem = (types) => pasted({ ...gemma, layer_types: types }).problem;
  const [, ...others] = layer_types;
  assert.match(problem(["linear_attention", ...others]).text, /linear_attention, a kind of layer whose cache/);
  assert.match(problem(others).text, /a list of 3 names/);
  assert.equal(problem("sliding_attention").field, "layer_types");
});

test("the text model inside a multimodal one is read, with a note", () => {
  const sizes = { hidden_size: 2560, intermediate_size: 10_240, num_hidden_layers: 34 };
  const text_config = { model_type: "gemma3_text", ...sizes };
  const { model, notes } = pasted({ model_type: "gemma3", text_config: { ...text_config, sliding_window: 1024 } });
  assert.deepEqual([model.heads, model.kv_heads, model.head_dim, model.vocab], [8, 4, 256, 262_208]);
  assert.deepEqual([model.window.tokens, model.window.layers.length], [1024, 29]);
  assert.match(notes[0], /Only the text model/);
  assert.equal(modelIn({ model_type: "gemma3", text_config: sizes }).family, "gemma3_text");
});

const LLAMA = CONFIGS["llama-3-8b"];

test("an unknown family is refused by its name, whatever its fields, with what to do", () => {
  const { model_type: _kind, ...unnamed } = LLAMA;
  assert.match(pasted(unnamed).problem.text, /does not name its family/);
  for (const kind of ["novel", "bert", "opt", "recurrent_gemma", "__proto__", "constructor", 7]) {
    const { field, text } = pasted({ ...unnamed, model_type: kind }).problem;
    assert.equal(field, "model_type", kind);
    assert.match(text, kind === 7 ? /does not name its family/ : new RegExp(`"${kind}"`));
  }
  assert.match(pasted({ model_type: "bert" }).problem.text, /write a known family as model_type/);
});

test("a field that its family does not have is refused by its name, in every family and at any value that says something", () => {
  const known = Object.keys(FAMILIES).filter((name) => !FAMILIES[name].text);
  for (const model_type of known) {
    const config = { model_type, ...(model_type === "deepseek_v2" && { num_experts_per_tok: 6 }) };
    for (const field of FAMILIES[model_type].required ?? []) config[field] = 8;
    modelIn(config);
    for (const value of [1, 0, true, "learned", [1], { rank: 8 }]) {
      assert.equal(pasted({ ...config, novel_field: value }).problem?.field, "novel_field", model_type);
    }
    for (const value of [null, false, "", [], {}]) modelIn({ ...config, novel_field: value });
  }
});

test("fields of other families are refused, where they would change the cache", () => {
  const refused = (config, fields) => {
    for (const [field, value] of Object.entries(fields))
      assert.equal(pasted({ ...config, [field]: value }).problem.field, field);
  };
  refused(LLAMA, { kv_lora_rank: 512, sliding_window: 4096, attn_layer_period: 8, num_experts: 8, index_topk: 2048 });
  refused(LLAMA, { num_kv_shared_layers: 4, cross_attention_layers: [3], use_qk_norm: true, is_encoder_decoder: true });
  refused(LLAMA, { layer_types: ["linear_attention"] });
  refused(CONFIGS.gpt2, { add_cross_attention: true });
  refused(CONFIGS["gemma-2-9b"], { use_bidirectional_attention: true });
});

test("what published configs have beside the sizes is read past", () => {
  const extra = {
    ...{ _name_or_path: "x", architectures: ["A"], torch_dtype: "bfloat16", transformers_version: "4.44" },
    ...{ rope_theta: 5e5, rope_scaling: { factor: 8 }, unsloth_fixed: true, use_cache: true },
    ...{ hidden_act: "silu", initializer_range: 0.02, pretraining_tp: 1, rms_norm_eps: 1e-5, auto_map: { A: "b" } },
    ...{ attention_dropout: 0.1, eos_token_id: [1, 2] },
    layer_types: Array(32).fill("full_attention"),
  };
  assert.deepEqual(modelIn({ ...LLAMA, ...extra }), modelIn(LLAMA));
  assert.equal(modelIn({ ...LLAMA, max_position_embeddings: null }).context, null);
});

test("a flat config of a model that reads images is its text model's, and a field of a flavour counts at its usual value", () => {
  const image = { vision_config: { depth: 32 }, image_token_id: 7, vision_start_token_id: 8, video_token_id: 9 };
  modelIn({ ...CONFIGS["qwen2.5-72b"], model_type: "qwen2_vl", ...image });
  const starcoder = { model_type: "starcoder2", norm_type: "layer_norm", mlp_type: "default" };
  modelIn(starcoder);
  assert.equal(pasted({ ...starcoder, mlp_type: "gated" }).problem.field, "mlp_type");
  assert.equal(pasted({ ...CONFIGS["deepseek-v2-lite"], use_mla: false, q_rank: 8 }).problem.field, "q_rank");
});

test("a text model is found under any key", () => {
  const inner = CONFIGS["qwen3-0.6b"];
  const vision_config = { model_type: "qwen2", hidden_size: 64 };
  const paths = ["text_config", "llm_config", "language_config", "decoder_config"];
  for (const path of [...paths, "thinker_config.text_config", "model.backbone.lm"]) {
    const config = path.split(".").reduceRight((inside, key) => ({ [key]: inside, vision_config }), inner);
    const read = pasted({ model_type: "novel_vl", audio_config: vision_config, ...config });
    assert.deepEqual(read.model, modelIn(inner), path);
    assert.deepEqual(readConfig(read.relevant).model, read.model, path);
  }
});

test("several text models, or flags that contradict each other, are refused by their place", () => {
  const [one, other] = [CONFIGS["qwen3-0.6b"], LLAMA];
  const two = pasted({ model_type: "omni", thinker_config: { text_config: one }, writer_config: other }).problem;
  assert.match(two.text, /thinker_config\.text_config, writer_config/);
  assert.equal(pasted({ tie_word_embeddings: false, llm_config: one }).problem.field, "tie_word_embeddings");
  const inside = (changes) => pasted({ model_type: "llava", text_config: { ...LLAMA, ...changes } }).problem.field;
  assert.equal(inside({ model_type: "novel" }), "text_config.model_type");
  assert.equal(inside({ kv_lora_rank: 4 }), "kv_lora_rank");
});
