/**
 * How each family writes its sizes into config.json. The defaults of its class, and the facts about its layers that are not
 * sizes, are in a table that the server uses too (model/families.json). Pure.
 *
 * @typedef {import("./config-fields.js").Fields} Fields
 * @typedef {import("./families.js").Family} Family
 * @typedef {import("./parameters.js").Model} Model
 */

import { msg } from "../shared/words/msg.js";
import { EXPERTS } from "./config-experts.js";
import { missingField, Refused } from "./config-fields.js";
import { known, numbered, windowOf } from "./config-windows.js";
import { layerOf } from "./families.js";

/** A model without extras: no window, no latent attention, no experts. */
const plain = (family) => ({ name: "", family, window: null, mla: null, moe: null });

/** @returns {Model} of a config whose fields have the names of Llama's */
function llama(fields, family, name) {
  const whole = (field, fallback = null) => fields.size(field, fallback);
  const [layers, d, heads] = [whole("num_hidden_layers"), whole("hidden_size"), whole("num_attention_heads")];
  const kvHeads = fields.isNull("num_key_value_heads") ? heads : whole("num_key_value_heads", heads);
  dividesHeads("num_key_value_heads", kvHeads, heads);
  return {
    ...plain(name),
    layers,
    d,
    heads,
    kv_heads: kvHeads,
    head_dim: fields.has("head_dim", true) ? fields.whole("head_dim") : headDim(d, heads, "num_attention_heads"),
    d_mlp: whole("intermediate_size"),
    vocab: whole("vocab_size"),
    tied: fields.flag("tie_word_embeddings"),
    context: fields.isNull("max_position_embeddings") ? null : fields.whole("max_position_embeddings"),
    window: windowOf(fields, family.window, layers),
    moe: EXPERTS[name]?.(fields, layers) ?? null,
    layer: layerOf(family, (field) => fields.flag(field)),
  };
}

function dividesHeads(field, part, heads) {
  if (heads % part) throw new Refused(field, msg`${field} is ${part}, which does not divide the ${heads} query heads.`);
}

/** The default where neither the config nor the class has a head_dim. */
function headDim(d, heads, field) {
  if (d % heads) {
    throw new Refused(field, msg`head_dim is missing, and ${field} (${heads}) does not divide the width ${d}.`);
  }
  return d / heads;
}

/** GPT-2 and GPT-BigCode, which name every size differently. */
function gpt2(fields, family, name) {
  const [layers, d, heads] = ["n_layer", "n_embd", "n_head"].map((field) => fields.size(field));
  return {
    ...plain(name),
    layers,
    d,
    heads,
    kv_heads: name === "gpt_bigcode" && fields.flag("multi_query") ? 1 : heads,
    head_dim: headDim(d, heads, "n_head"),
    d_mlp: fields.whole("n_inner", 4 * d),
    vocab: fields.size("vocab_size"),
    tied: fields.flag("tie_word_embeddings"),
    context: fields.whole("n_positions"),
    layer: layerOf(family),
  };
}

/** GPT-NeoX has no KV heads. */
function neox(fields, family, name) {
  const { num_key_value_heads: _none, ...raw } = fields.raw;
  fields.raw = raw;
  return llama(fields, family, name);
}

/** Falcon. Its older configs have n_layer and n_head; num_kv_heads counts only in the newer architecture, that of the 40B. */
function falcon(fields, family, name) {
  const either = (field, old) => fields.size(fields.has(old) && !fields.has(field) ? old : field);
  const [layers, d] = [either("num_hidden_layers", "n_layer"), fields.size("hidden_size")];
  const heads = either("num_attention_heads", "n_head");
  const newer = fields.flag("new_decoder_architecture");
  const shared = fields.flag("multi_query") ? 1 : heads;
  const kvHeads = newer ? fields.whole("num_kv_heads", heads) : shared;
  dividesHeads("num_kv_heads", kvHeads, heads);
  const parallel = newer || fields.flag("parallel_attn");
  const norms = newer ? fields.whole("num_ln_in_parallel_attn", 2) : 1;
  return {
    ...plain(name),
    layers,
    d,
    heads,
    kv_heads: kvHeads,
    head_dim: headDim(d, heads, "num_attention_heads"),
    d_mlp: fields.whole("ffn_hidden_size", 4 * d),
    vocab: fields.size("vocab_size"),
    tied: fields.flag("tie_word_embeddings"),
    context: fields.isNull("max_position_embeddings") ? null : fields.whole("max_position_embeddings"),
    layer: { ...layerOf(family, (field) => fields.flag(field)), norms: parallel ? norms : 2 },
  };
}

/** DeepSeek-V2 and V3: latent attention, which has no KV heads and computes head_dim from two other fields. */
function deepseek(fields, family, name) {
  const mla = {
    kv_lora_rank: fields.whole("kv_lora_rank"),
    qk_rope_head_dim: fields.whole("qk_rope_head_dim"),
    qk_nope_head_dim: fields.whole("qk_nope_head_dim"),
    v_head_dim: fields.whole("v_head_dim"),
    q_lora_rank: fields.isNull("q_lora_rank") ? null : fields.whole("q_lora_rank"),
  };
  const { head_dim: _dim, num_key_value_heads: _heads, ...raw } = fields.raw;
  const { num_key_value_heads: _all, ...defaults } = fields.defaults;
  fields.raw = raw;
  fields.defaults = { ...defaults, head_dim: mla.qk_nope_head_dim + mla.qk_rope_head_dim };
  return { ...llama(fields, family, name), mla };
}

/** Llama 4: the MLP of a layer without experts has another width. */
function llama4(fields, family, name) {
  return { ...llama(fields, family, name), d_mlp: fields.size("intermediate_size_mlp") };
}

/** Qwen3-Next: most layers use linear attention, and store a state of constant size instead of K and V. */
function qwen3Next(fields, family, name) {
  const model = llama(fields, family, name);
  const [keys, values] = [fields.whole("linear_num_key_heads"), fields.whole("linear_num_value_heads")];
  if (values % keys) {
    const field = "linear_num_key_heads";
    throw new Refused(field, msg`${field} is ${keys}, which does not divide the ${values} value heads.`);
  }
  const named = fields.kinds("layer_types", model.layers);
  if (named) known("layer_types", named, ["linear_attention", "full_attention"]);
  const each = fields.whole("full_attention_interval", 4);
  const linear = numbered(model.layers, (layer) =>
    named ? named[layer] === "linear_attention" : (layer + 1) % each !== 0,
  );
  if (!linear.length) return model;
  return {
    ...model,
    linear: {
      layers: linear.length,
      key_heads: keys,
      value_heads: values,
      key_dim: fields.whole("linear_key_head_dim"),
      value_dim: fields.whole("linear_value_head_dim"),
      kernel: fields.whole("linear_conv_kernel_dim"),
    },
  };
}

/** Gemma 3n: the last layers use the K and V of earlier ones, and every layer has an embedding for each token. */
function gemma3n(fields, family, name) {
  const widths = fields.raw.intermediate_size;
  if (Array.isArray(widths)) {
    if (!widths.length || widths.some((width) => width !== widths[0])) {
      throw new Refused(
        "intermediate_size",
        msg`intermediate_size differs between layers, which this calculator cannot count.`,
      );
    }
    fields.raw = { ...fields.raw, intermediate_size: widths[0] };
  }
  const model = llama(fields, family, name);
  const shared = fields.whole("num_kv_shared_layers", null, 0);
  if (shared >= model.layers) {
    throw new Refused(
      "num_kv_shared_layers",
      msg`num_kv_shared_layers is ${shared}, but the model has ${model.layers} layers.`,
    );
  }
  return {
    ...model,
    kv_shared: shared,
    altup: {
      inputs: fields.whole("altup_num_inputs"),
      rank: fields.whole("laurel_rank"),
      vocab: fields.whole("vocab_size_per_layer_input"),
      width: fields.whole("hidden_size_per_layer_input"),
    },
  };
}

/** @type {Object<string, (fields: Fields, family: Family, name: string) => Model>} the families that have other fields than Llama */
const READERS = {
  gpt2,
  gpt_bigcode: gpt2,
  gpt_neox: neox,
  falcon,
  deepseek_v2: deepseek,
  deepseek_v3: deepseek,
  llama4_text: llama4,
  qwen3_next: qwen3Next,
  gemma3n_text: gemma3n,
};

/** @returns {Model} of a config of the family `name` */
export function modelOf(fields, family, name) {
  const missing = family.required?.find((field) => !fields.has(field));
  if (missing) throw missingField(missing);
  return (READERS[name] ?? llama)(fields, family, name);
}
