/**
 * How each family writes its sizes into config.json. A field that is left out has the value that `transformers` (5.23) gives it.
 *
 * @typedef {import("./config-fields.js").Fields} Fields
 * @typedef {import("./parameters.js").Model} Model
 */

import { defaultsOf } from "./config-defaults.js";
import { Refused } from "./config-fields.js";

const MISTRAL_WINDOW = 4096;
const WINDOW = 4096;
const OSS_WINDOW = 128;
const QWEN_FULL_LAYERS = 28;
const FALCON_CONTEXT = 2048;
const GPT2_CONTEXT = 1024;

/**
 * @typedef {Object} Shape what a family does otherwise than Llama
 * @property {number} [headDim] where the config has none; else width ÷ heads
 * @property {boolean} [tied]
 * @property {(fields: Fields, layers: number) => Model["window"]} [window]
 * @property {(fields: Fields, layers: number) => Model["moe"]} [moe]
 */

/**
 * @param {Fields} fields
 * @param {string} family
 * @param {Shape} shape
 * @returns {Model}
 */
export function llama(fields, family, { headDim = null, tied = false, window, moe } = {}) {
  const defaults = defaultsOf(family);
  const whole = (field, fallback = null) => fields.size(field, defaults, fallback);
  const [layers, d, heads] = [whole("num_hidden_layers"), whole("hidden_size"), whole("num_attention_heads")];
  const kvHeads = whole("num_key_value_heads", heads);
  divides("num_key_value_heads", kvHeads, heads, "query heads");
  return {
    name: "",
    family,
    layers,
    d,
    heads,
    kv_heads: kvHeads,
    head_dim: fields.whole("head_dim", headDim ?? headDimOf(fields, d, heads, "num_attention_heads")),
    d_mlp: whole("intermediate_size"),
    vocab: whole("vocab_size"),
    tied: fields.flag("tie_word_embeddings", tied),
    context: contextOf(fields, defaults.max_position_embeddings),
    window: window ? window(fields, layers) : null,
    mla: null,
    moe: moe ? moe(fields, layers) : null,
  };
}

function contextOf(fields, fallback = null) {
  if (fields.has("max_position_embeddings")) return fields.whole("max_position_embeddings");
  return "max_position_embeddings" in fields.raw ? null : fallback;
}

function divides(field, part, all, name) {
  if (all % part) throw new Refused(field, `${field} is ${part}, which does not divide the ${all} ${name}.`);
}

/** Only asked for where the config has no head_dim of its own. */
function headDimOf(fields, d, heads, field) {
  if (!fields.has("head_dim")) divides(field, heads, d, "numbers of a row, and there is no head_dim");
  return Math.floor(d / heads);
}

/** GPT-2 and GPT-BigCode, with names of their own for every size. */
function gpt2(fields, family) {
  const [layers, d, heads] = ["n_layer", "n_embd", "n_head"].map((field) => fields.whole(field));
  return {
    name: "",
    family,
    layers,
    d,
    heads,
    kv_heads: family === "gpt_bigcode" && fields.flag("multi_query", true) ? 1 : heads,
    head_dim: headDimOf(fields, d, heads, "n_head"),
    d_mlp: fields.whole("n_inner", 4 * d),
    vocab: fields.whole("vocab_size"),
    tied: fields.flag("tie_word_embeddings", true),
    context: fields.whole("n_positions", GPT2_CONTEXT),
    window: null,
    mla: null,
    moe: null,
  };
}

/** Falcon. Its older configs say n_layer and n_head, and num_kv_heads counts only in the architecture of the 40B. */
function falcon(fields) {
  const either = (field, old) => fields.whole(fields.has(field) ? field : old);
  const [layers, d] = [either("num_hidden_layers", "n_layer"), fields.whole("hidden_size")];
  const heads = either("num_attention_heads", "n_head");
  const newer = fields.flag("new_decoder_architecture", false);
  const shared = fields.flag("multi_query", true) ? 1 : heads;
  const kvHeads = newer ? fields.whole("num_kv_heads", heads) : shared;
  divides("num_kv_heads", kvHeads, heads, "query heads");
  return {
    name: "",
    family: newer ? "falcon_40b" : "falcon",
    layers,
    d,
    heads,
    kv_heads: kvHeads,
    head_dim: headDimOf(fields, d, heads, "num_attention_heads"),
    d_mlp: fields.whole("ffn_hidden_size", 4 * d),
    vocab: fields.whole("vocab_size"),
    tied: fields.flag("tie_word_embeddings", true),
    context: contextOf(fields, FALCON_CONTEXT),
    window: null,
    mla: null,
    moe: null,
  };
}

/** DeepSeek-V2 and V3: latent attention, and experts after the first layers. */
function deepseek(fields, family) {
  const mla = {
    kv_lora_rank: fields.whole("kv_lora_rank"),
    qk_rope_head_dim: fields.whole("qk_rope_head_dim"),
    qk_nope_head_dim: fields.whole("qk_nope_head_dim"),
    v_head_dim: fields.whole("v_head_dim"),
    q_lora_rank: fields.has("q_lora_rank") ? fields.whole("q_lora_rank") : null,
  };
  const model = llama(fields, family, { headDim: mla.qk_nope_head_dim + mla.qk_rope_head_dim, moe: deepseekExperts });
  return { ...model, head_dim: mla.qk_nope_head_dim + mla.qk_rope_head_dim, mla };
}

function deepseekExperts(fields, layers) {
  if (!fields.has("n_routed_experts")) return null;
  if (fields.whole("moe_layer_freq", 1) !== 1) {
    throw new Refused(
      "moe_layer_freq",
      "moe_layer_freq is not 1: experts in only some of the later layers are not counted here.",
    );
  }
  const dense = fields.whole("first_k_dense_replace", 0, 0);
  if (dense > layers)
    throw new Refused("first_k_dense_replace", `first_k_dense_replace is ${dense}, with ${layers} layers.`);
  const sizes = { d_expert: fields.whole("moe_intermediate_size"), dense_layers: dense };
  return { ...chosen(fields, "n_routed_experts"), shared: fields.whole("n_shared_experts", 0, 0), ...sizes };
}

function chosen(fields, field, fallback = null, few = null) {
  const [experts, each] = [fields.whole(field, fallback), fields.whole("num_experts_per_tok", few)];
  if (each > experts) {
    throw new Refused("num_experts_per_tok", `num_experts_per_tok is ${each}, of ${experts} experts.`);
  }
  return { experts, chosen: each };
}

function mixtral(fields) {
  return {
    ...chosen(fields, "num_local_experts", 8, 2),
    shared: 0,
    d_expert: fields.size("intermediate_size", defaultsOf("mixtral")),
    dense_layers: 0,
  };
}

function qwenExperts(fields, layers) {
  const each = fields.whole("decoder_sparse_step", 1);
  const dense = fields.layers("mlp_only_layers");
  const sparse = numbered(layers, (layer) => (layer + 1) % each === 0 && !dense.includes(layer)).length;
  const d_expert = fields.size("moe_intermediate_size", defaultsOf("qwen3_moe"));
  const sizes = { shared: 0, d_expert, dense_layers: layers - sparse };
  // transformers 5 writes it under the name that Mixtral has.
  const field = fields.has("num_local_experts") ? "num_local_experts" : "num_experts";
  return { ...chosen(fields, field, 128, 8), ...sizes };
}

function ossExperts(fields) {
  const experts = fields.whole("num_local_experts", 128);
  const d_expert = fields.size("intermediate_size", defaultsOf("gpt_oss"));
  return { experts, chosen: fields.whole("num_experts_per_tok", 4), shared: 0, d_expert, dense_layers: 0 };
}

const numbered = (layers, has) => Array.from({ length: layers }, (_, layer) => layer).filter(has);

/** The layers that `layer_types` names, or those that `has` says where it is left out. */
function windowOf(fields, layers, tokens, has) {
  const kinds = fields.kinds("layer_types", layers);
  for (const kind of kinds ?? []) {
    if (!["sliding_attention", "full_attention"].includes(kind)) {
      throw new Refused("layer_types", `layer_types has ${kind.slice(0, 40)}, whose cache is not known here.`);
    }
  }
  const windowed = numbered(layers, kinds ? (layer) => kinds[layer] === "sliding_attention" : has);
  return windowed.length ? { tokens: tokens(), layers: windowed } : null;
}

/** A window in every layer, unless the config says null; left out it is `fallback`. */
const everywhere = (fallback) => (fields, layers) => {
  if (!fields.has("sliding_window") && (fallback === null || "sliding_window" in fields.raw)) return null;
  return { tokens: fields.whole("sliding_window", fallback), layers: numbered(layers, () => true) };
};

/** Qwen: only where `use_sliding_window` says so, and from `max_window_layers` on. */
function qwenWindow(fields, layers) {
  if (!fields.flag("use_sliding_window", false) || !fields.has("sliding_window")) return null;
  const first = fields.whole("max_window_layers", QWEN_FULL_LAYERS, 0);
  return windowOf(
    fields,
    layers,
    () => fields.whole("sliding_window"),
    (layer) => layer >= first,
  );
}

/** Each `pattern`th layer is without a window, such as in Gemma 2 and 3. */
const besidesEach =
  (pattern, fallback = WINDOW) =>
  (fields, layers) => {
    const each = fields.whole("sliding_window_pattern", pattern);
    const tokens = () => fields.whole("sliding_window", fallback);
    return windowOf(fields, layers, tokens, (layer) => (layer + 1) % each !== 0);
  };

const gemma = { tied: true, headDim: 256 };
const gemma3 = (fields) => llama(fields, "gemma3_text", { ...gemma, window: besidesEach(6) });
const like = (shape) => (fields, family) => llama(fields, family, shape);

/** @type {Map<string, (fields: Fields, family: string) => Model>} by `model_type` */
export const FAMILIES = new Map(
  Object.entries({
    llama: like({}),
    mistral: like({ window: everywhere(MISTRAL_WINDOW) }),
    mixtral: like({ window: everywhere(null), moe: mixtral }),
    phi3: like({ window: everywhere(null) }),
    qwen2: like({ window: qwenWindow }),
    qwen3: like({ window: qwenWindow, headDim: 128 }),
    qwen3_moe: like({ window: qwenWindow, moe: qwenExperts }),
    gemma: like(gemma),
    gemma2: like({ ...gemma, window: besidesEach(2) }),
    gemma3,
    gemma3_text: gemma3,
    olmo2: like({}),
    olmo3: like({ window: besidesEach(4) }),
    cohere: like({ tied: true }),
    cohere2: like({ tied: true, window: besidesEach(4) }),
    starcoder2: like({ tied: true, window: everywhere(null) }),
    phi: like({}),
    gpt_neox: (fields) => llama(fields.without("num_key_value_heads"), "gpt_neox"),
    gpt_oss: like({ headDim: 64, window: besidesEach(2, OSS_WINDOW), moe: ossExperts }),
    gpt2,
    gpt_bigcode: gpt2,
    falcon,
    deepseek_v2: deepseek,
    deepseek_v3: deepseek,
  }),
);
