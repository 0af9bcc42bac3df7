/**
 * Which fields a config may have beside those that its family's reader reads: those that change neither the parameters nor the
 * cache. Any other field is refused, since a model that the reader does not understand looks like one that it does. Pure.
 */

import { msg } from "../shared/words/msg.js";
import { Refused } from "./config-fields.js";

/** Whatever their value. tests/static/memory/test_default_configs.py compares models that differ only in these. */
const WITHOUT_SIZE = new Set([
  ...["model_type", "architectures", "auto_map", "dtype", "torch_dtype", "id2label", "label2id", "problem_type"],
  ...["use_cache", "return_dict", "output_attentions", "output_hidden_states", "chunk_size_feed_forward", "is_decoder"],
  ...[
    "pretraining_tp",
    "ep_size",
    "gradient_checkpointing",
    "use_flash_attn",
    "tokenizer_class",
    "task_specific_params",
  ],
  ...[
    "hidden_act",
    "hidden_activation",
    "activation",
    "activation_function",
    "initializer_range",
    "initializer_factor",
  ],
  ...["mlp_bias_init", "partial_rotary_factor", "original_max_position_embeddings", "max_window_layers", "n_ctx"],
  ...[
    "query_pre_attn_scalar",
    "logit_scale",
    "logits_scaling",
    "swiglu_alpha",
    "swiglu_limit",
    "initial_context_length",
  ],
  ...["embedding_multiplier", "residual_multiplier", "attention_multiplier", "attn_scale", "floor_scale", "alibi"],
  ...["attn_temperature_tuning", "use_parallel_residual", "reorder_and_upcast_attn", "activation_sparsity_pattern"],
  ...["scale_attn_weights", "scale_attn_by_inverse_layer_idx", "scale_attention_softmax_in_fp32", "experts_per_token"],
  ...["attention_softmax_in_fp32", "altup_active_idx", "altup_coef_clip", "altup_correct_scale", "num_image_tokens"],
  ...[
    "n_group",
    "topk_group",
    "topk_method",
    "norm_topk_prob",
    "scoring_func",
    "aux_loss_alpha",
    "seq_aux",
    "clip_qkv",
  ],
  ...["routed_scaling_factor", "router_jitter_noise", "output_router_logits", "compression_config", "rotary_pct"],
  ...[
    "do_sample",
    "temperature",
    "top_p",
    "top_k",
    "max_length",
    "model_max_length",
    "repetition_penalty",
    "tie_encoder_decoder",
  ],
  ...[
    "classifier_activation",
    "cache_implementation",
    "attn_implementation",
    "mrope_section",
    "bos_token",
    "eos_token",
  ],
]);
const WITHOUT_SIZE_LIKE = [
  /^(rope|rotary|unsloth|summary|mrope|_attn|vision|image|video|audio)_/,
  /_(token_id|token_ids|dropout|pdrop|eps|epsilon|softcapping|loss_coef|prob)$/,
  /(^|_)(version|name_or_path)$/,
  /dropout$/,
];

/** Fields of published configs that say what the family is anyway; with another value they would say something else. */
const ONLY_AT = { mlp_type: "default", norm_type: "layer_norm", use_mla: true, lm_head: true };

/**
 * @param {import("./config-fields.js").Fields} fields after the family's reader has read them
 * @param {import("./families.js").Family} family
 * @param {string} name of the family
 */
export function refuseUnknownFields({ raw, seen }, { defaults, window, ignored = [] }, name) {
  const windows = window ? ["sliding_window", "layer_types", "no_rope_layers"] : ["no_rope_layers"];
  const understood = new Set([...seen, ...Object.keys(defaults), ...ignored, ...windows]);
  const field = Object.keys(raw).find(
    (each) =>
      !understood.has(each) &&
      !isEmpty(raw[each]) &&
      !withoutSize(each) &&
      !(Object.hasOwn(ONLY_AT, each) && ONLY_AT[each] === raw[each]) &&
      !allFull(each, raw[each]),
  );
  if (field === undefined) return;
  const shownField = field.slice(0, 60);
  throw new Refused(
    field,
    msg`${shownField} is a field that this page does not know in the family ${name}. It may change the sizes of the model. If it does not, delete it from the text.`,
  );
}

/** Whether a field says nothing: what it names is missing or switched off. */
function isEmpty(value) {
  if (value === null || value === false || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function withoutSize(field) {
  return WITHOUT_SIZE.has(field) || WITHOUT_SIZE_LIKE.some((pattern) => pattern.test(field));
}

/** A list that names every layer as one that stores all tokens, in a family of which all layers do. */
function allFull(field, value) {
  return field === "layer_types" && Array.isArray(value) && value.every((kind) => kind === "full_attention");
}
