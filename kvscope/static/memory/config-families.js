/**
 * Reads the sizes of a model from a config.json. Where each family has its fields, and their defaults, are in a table that the
 * checkpoint reader uses too (model/families.py describes it); here is what only code can say. Pure.
 *
 * @typedef {import("./config-fields.js").Fields} Fields
 * @typedef {import("../shared/sizes/families.js").Family} Family
 * @typedef {import("../shared/sizes/parameters.js").Model} Model
 */

import { layerOf } from "../shared/sizes/families.js";
import { msg } from "../shared/words/msg.js";
import { expertsOf } from "./config-experts.js";
import { missingField, Refused } from "./config-fields.js";
import { known, numbered, windowOf } from "./config-windows.js";

/** @returns {Model} of a config, by the family's entry in the table */
function plain(fields, family, name) {
  const size = (key, fallback = null) => fields.size(fields.nameOf(family.fields[key]), fallback);
  const [layers, d, heads] = [size("layers"), size("d"), size("heads")];
  const mla = family.latent ? latentOf(fields) : null;
  return {
    name: "",
    family: name,
    layers,
    d,
    heads,
    kv_heads: kvHeadsOf(fields, family, heads),
    head_dim: mla ? mla.qk_nope_head_dim + mla.qk_rope_head_dim : headDimOf(fields, family, d, heads),
    d_mlp: size("d_mlp", family.mlp_widths ? family.mlp_widths * d : null),
    vocab: size("vocab"),
    tied: fields.flag("tie_word_embeddings"),
    context: contextOf(fields, family),
    window: windowOf(fields, family.window, layers),
    mla,
    moe: expertsOf(fields, family.experts, layers),
    layer: layerOf(family, (field) => fields.flag(field)),
  };
}

/** @returns {number} KV heads; as many as query heads where the config says nothing */
function kvHeadsOf(fields, { fields: { kv_heads: field }, kv_heads_if: condition, one_kv_head_if: one }, heads) {
  if (!field || (condition && !fields.flag(condition))) return one && fields.flag(one) ? 1 : heads;
  if (fields.isNull(field)) return heads;
  const kvHeads = fields.size(field, heads);
  if (heads % kvHeads) {
    throw new Refused(field, msg`${field} is ${kvHeads}, which does not divide the ${heads} query heads.`);
  }
  return kvHeads;
}

/** @returns {number} width ÷ heads where neither the config nor the class has a width of a head */
function headDimOf(fields, { fields: names }, d, heads) {
  if (names.head_dim && fields.has(names.head_dim, true)) return fields.whole(names.head_dim);
  if (d % heads) {
    const field = fields.nameOf(names.heads);
    throw new Refused(field, msg`head_dim is missing, and ${field} (${heads}) does not divide the width ${d}.`);
  }
  return d / heads;
}

/** @returns {number|null} the longest text; null if the config has none. Learned positions need a number. */
function contextOf(fields, { fields: { context: field }, layer }) {
  return !layer.positions && fields.isNull(field) ? null : fields.whole(field);
}

/** @returns {NonNullable<Model["mla"]>} of latent attention, which has no KV heads */
function latentOf(fields) {
  return {
    kv_lora_rank: fields.whole("kv_lora_rank"),
    qk_rope_head_dim: fields.whole("qk_rope_head_dim"),
    qk_nope_head_dim: fields.whole("qk_nope_head_dim"),
    v_head_dim: fields.whole("v_head_dim"),
    q_lora_rank: fields.isNull("q_lora_rank") ? null : fields.whole("q_lora_rank"),
  };
}

/** Falcon: how many norms a layer has depends on whether its halves are computed side by side. */
function falcon(fields, family, name) {
  const model = plain(fields, family, name);
  const newer = fields.flag("new_decoder_architecture");
  const parallel = newer || fields.flag("parallel_attn");
  const norms = newer ? fields.whole("num_ln_in_parallel_attn", 2) : 1;
  return { ...model, layer: { ...model.layer, norms: parallel ? norms : 2 } };
}

/** Qwen3-Next: most layers use linear attention, and store a state of constant size instead of K and V. */
function qwen3Next(fields, family, name) {
  const model = plain(fields, family, name);
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
  const model = plain(fields, family, name);
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

/** @type {Object<string, (fields: Fields, family: Family, name: string) => Model>} the families that the table does not describe in full */
const READERS = { falcon, qwen3_next: qwen3Next, gemma3n_text: gemma3n };

/** @returns {Model} of a config of the family `name` */
export function modelOf(fields, family, name) {
  const missing = family.required?.find((field) => !fields.has(field));
  if (missing) throw missingField(missing);
  return (READERS[name] ?? plain)(fields, family, name);
}
