/**
 * A pasted config.json, in the form of Hugging Face, as a model of the calculator; or what is wrong with it, and with which
 * field. Pure.
 */

import { llama, modelOf } from "./config-families.js";
import { Fields, Refused, shown } from "./config-fields.js";
import { FAMILIES } from "./families.js";
import { problemOf } from "./limits.js";

const MOST_CHARACTERS = 200_000;

/** Fields of models whose layers do not all keep keys and values, or not for every token. */
const OTHER_CACHES = [
  ...["ssm_cfg", "state_size", "mamba_d_state", "attn_layer_period", "layers_block_type", "hybrid_override_pattern"],
  ...["linear_num_value_heads", "linear_attn_config", "attention_chunk_size", "compress_ratios", "index_topk"],
];
/** Fields of models whose layers are not those of Llama in another way. */
const UNLIKE_LLAMA = [
  ...["sliding_window", "layer_types", "sliding_window_pattern", "cross_attention_layers", "num_kv_shared_layers"],
  ...["use_parallel_residual", "parallel_attn", "use_qk_norm", "qk_layernorm", "multi_query", "activation_function"],
];
const EXPERTS = [
  "num_local_experts",
  "num_experts",
  "n_routed_experts",
  "moe_intermediate_size",
  "num_experts_per_tok",
];

/**
 * @param {string} text
 * @returns {{model: import("./parameters.js").Model, notes: string[], matters: string}|
 *   {problem: import("./limits.js").Problem}} `notes`: what was assumed or left out, in sentences; `matters`: a config of the
 *   fields that were looked at, which reads the same
 */
export function readConfig(text) {
  try {
    return read(text);
  } catch (error) {
    if (error instanceof Refused) return { problem: { field: error.field, text: error.message } };
    throw error;
  }
}

function read(text) {
  const outer = objectOf(parsed(text), "config.json");
  const inner =
    outer.text_config === undefined || outer.text_config === null ? outer : objectOf(outer.text_config, "text_config");
  const whole = familyOf(outer.model_type);
  const kind = whole?.text ? textKind(inner, outer, whole) : (inner.model_type ?? outer.model_type);
  const family = familyOf(kind);
  const fields = new Fields(inner, family?.defaults ?? {});
  const notes =
    inner !== outer || whole?.text ? ["Only the text model is counted, not what reads pictures or sound."] : [];
  if (fields.flag("is_encoder_decoder")) {
    throw new Refused(
      "is_encoder_decoder",
      "is_encoder_decoder is true: a decoder that reads an encoder keeps other caches too.",
    );
  }
  let model = family ? modelOf(fields, family, kind) : taken(fields, kind, notes);
  const head = whole?.text ? new Fields(outer, whole.defaults) : null;
  if (head) model = { ...model, tied: tiedOf(head, fields) || Boolean(whole.tied_inside && model.tied) };
  if (fields.has("quantization_config")) {
    notes.push("The weights of this config are stored quantized: choose their dtype.");
  }
  if (fields.has("num_nextn_predict_layers") && inner.num_nextn_predict_layers > 0) {
    notes.push("The layers that guess further tokens (num_nextn_predict_layers) are not counted.");
  }
  if (model.window?.chunked) {
    notes.push("Layers that attend in chunks are counted with a whole chunk, the most that they keep.");
  }
  if (fields.assumed.size) {
    const values = { ...fields.defaults, ...whole?.defaults };
    const taken = [...fields.assumed].map((field) => `${field} = ${values[field]}`);
    notes.push(`Left out, and taken as the class of this family in transformers has it: ${taken.join(", ")}.`);
  }
  tooLarge(model);
  return { model, notes, matters: matters(fields, kind, head, inner !== outer) };
}

/** @returns {import("./families.js").Family|undefined} */
function familyOf(kind) {
  return typeof kind === "string" && Object.hasOwn(FAMILIES, kind) ? FAMILIES[kind] : undefined;
}

/** The family of the text model in one that reads more: its own name, unless it has none or is the whole. */
function textKind(inner, outer, whole) {
  return inner === outer ? whole.text : (inner.model_type ?? whole.text);
}

/** The LM head is outside the text model, and so is the flag that ties it. */
function tiedOf(head, fields) {
  if (!head.has("tie_word_embeddings")) fields.assumed.add("tie_word_embeddings");
  return head.flag("tie_word_embeddings");
}

/** Short enough for an address: what an object says in full is not looked at. */
function matters({ raw, seen }, kind, head, inside) {
  const fields = [...seen].filter((field) => Object.hasOwn(raw, field));
  const plain = (value) => (typeof value === "object" && value !== null && !Array.isArray(value) ? {} : value);
  const kept = { model_type: kind, ...Object.fromEntries(fields.map((field) => [field, plain(raw[field])])) };
  if (!head) return JSON.stringify(inside ? { text_config: kept } : kept);
  const { model_type, tie_word_embeddings } = head.raw;
  return JSON.stringify({ model_type, tie_word_embeddings, text_config: kept });
}

function parsed(text) {
  if (text.length > MOST_CHARACTERS) {
    throw new Refused(
      "config.json",
      `This is ${text.length} characters long; a config.json has less than ${MOST_CHARACTERS}.`,
    );
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refused("config.json", `This is not JSON: ${error.message}.`);
  }
}

function objectOf(value, field) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Refused(field, `${field} is ${shown(value)}, not an object with fields.`);
  }
  return value;
}

/** A family that is not known, by the names that Llama gives its sizes. */
function taken(fields, kind, notes) {
  const named =
    typeof kind === "string" ? `The family ${shown(kind)} is not known` : "The config names no family (model_type)";
  const missing = ["num_hidden_layers", "hidden_size", "num_attention_heads"].find((field) => !fields.has(field));
  if (missing) throw new Refused("model_type", `${named}, and ${missing}, which Llama has, is missing.`);
  const other = [...OTHER_CACHES, "kv_lora_rank"].find((field) => fields.has(field));
  if (other) throw new Refused(other, `${named}, and ${other} says that its cache is not like Llama's.`);
  const experts = EXPERTS.find((field) => fields.has(field));
  if (experts)
    throw new Refused(
      experts,
      `${named}, and ${experts} says that it has experts, which are not counted alike in all.`,
    );
  const unlike = UNLIKE_LLAMA.find((field) => fields.has(field) && fields.raw[field] !== false);
  if (unlike)
    throw new Refused(
      unlike,
      `${named}, and ${unlike} says that its layers are not all like Llama's. These families can be read: ${textFamilies().join(", ")}.`,
    );
  fields.defaults = FAMILIES.llama.defaults;
  const model = llama(fields, FAMILIES.llama, "llama");
  notes.push(`${named}: its layers are taken to be those of Llama, all of which keep every token.`);
  return model;
}

function textFamilies() {
  return Object.keys(FAMILIES).filter((name) => !FAMILIES[name].text);
}

/** Sizes that are each possible, but not together. */
function tooLarge(model) {
  const one = { context: 1, requests: 1, prefix: 0, gpus: 1, gpu: { memory: 1, bandwidth: 1, flops: 1 } };
  const stored = { dtype: "fp32" };
  if (problemOf({ ...one, cache: stored, weights: stored }, model)) {
    throw new Refused("config.json", "These sizes make a model of more than 9 PB, which is not counted here.");
  }
}
