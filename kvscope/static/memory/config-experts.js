/** The experts of a config, by family: each family names its fields differently. Pure. */

import { msg } from "../shared/words/msg.js";
import { Refused } from "./config-fields.js";
import { numbered } from "./config-windows.js";

/**
 * @typedef {import("./config-fields.js").Fields} Fields
 * @typedef {NonNullable<import("./parameters.js").Model["moe"]>} Experts
 * @typedef {(fields: Fields, layers: number) => Experts|null} Reader
 */

/** @type {Reader} of DeepSeek: after the first layers */
function deepseek(fields, layers) {
  if (fields.isNull("n_routed_experts")) return null;
  if (fields.whole("moe_layer_freq", 1) !== 1) {
    throw new Refused(
      "moe_layer_freq",
      msg`moe_layer_freq is not 1. This calculator cannot count experts in only some of the later layers.`,
    );
  }
  const dense = fields.whole("first_k_dense_replace", 0, 0);
  if (dense > layers)
    throw new Refused(
      "first_k_dense_replace",
      msg`first_k_dense_replace is ${dense}, but the model has ${layers} layers.`,
    );
  const d_expert = fields.size("moe_intermediate_size");
  const shared = fields.isNull("n_shared_experts") ? 0 : fields.whole("n_shared_experts", 0, 0);
  return { ...chosen(fields, "n_routed_experts"), shared, d_expert, dense_layers: dense };
}

/** @type {Reader} of Mixtral and gpt-oss: in every layer, in place of the MLP */
function everyLayer(fields) {
  const d_expert = fields.size("intermediate_size");
  return { ...chosen(fields, "num_local_experts"), shared: 0, d_expert, dense_layers: 0 };
}

/** @type {Reader} of Qwen: in each `decoder_sparse_step`th layer that is not in `mlp_only_layers` */
function qwen(fields, layers) {
  const each = fields.whole("decoder_sparse_step", 1);
  const dense = fields.layers("mlp_only_layers");
  const sparse = numbered(layers, (layer) => (layer + 1) % each === 0 && !dense.includes(layer)).length;
  const d_expert = fields.size("moe_intermediate_size");
  const width = fields.whole("shared_expert_intermediate_size", 0, 0);
  const shared = width ? { shared: 1, d_shared: width } : { shared: 0 };
  // transformers 5 writes this field with the name that Mixtral uses.
  const field = fields.has("num_local_experts") ? "num_local_experts" : "num_experts";
  return { ...chosen(fields, field), ...shared, d_expert, dense_layers: layers - sparse };
}

/** @type {Reader} of Llama 4: in each `interleave_moe_layer_step`th layer, plus a shared expert that every token uses */
function llama4(fields, layers) {
  const each = fields.whole("interleave_moe_layer_step");
  const listed = fields.has("moe_layers")
    ? new Set(fields.layers("moe_layers").filter((layer) => layer < layers))
    : null;
  const sparse = listed?.size ?? numbered(layers, (layer) => (layer + 1) % each === 0).length;
  const d_expert = fields.size("intermediate_size");
  return { ...chosen(fields, "num_local_experts"), shared: 1, d_expert, dense_layers: layers - sparse };
}

function chosen(fields, field) {
  const [experts, each] = [fields.whole(field), fields.whole("num_experts_per_tok")];
  if (each > experts) {
    throw new Refused(
      "num_experts_per_tok",
      msg`num_experts_per_tok is ${each}, but the model has ${experts} experts.`,
    );
  }
  return { experts, chosen: each };
}

/** @type {Object<string, Reader>} by `model_type` */
export const EXPERTS = {
  mixtral: everyLayer,
  gpt_oss: everyLayer,
  qwen2_moe: qwen,
  qwen3_moe: qwen,
  qwen3_vl_moe_text: qwen,
  qwen3_next: qwen,
  llama4_text: llama4,
  deepseek_v2: deepseek,
  deepseek_v3: deepseek,
};
