/**
 * Reads a pasted config.json in the format of Hugging Face: returns a model for the calculator, or the field that is wrong and
 * why. Pure.
 */

import { integer } from "../shared/facts/format.js";
import { msg } from "../shared/words/msg.js";
import { llama, modelOf } from "./config-families.js";
import { Fields, Refused, shown } from "./config-fields.js";
import { FAMILIES } from "./families.js";
import { problemOf } from "./limits.js";

const MOST_CHARACTERS = 200_000;

/** Fields of models in which some layers store no keys and values, or not those of every token. */
const OTHER_CACHES = [
  ...["ssm_cfg", "state_size", "mamba_d_state", "attn_layer_period", "layers_block_type", "hybrid_override_pattern"],
  ...["linear_num_value_heads", "linear_attn_config", "attention_chunk_size", "compress_ratios", "index_topk"],
];
/** Fields of models whose layers differ from those of Llama in another way. */
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
 * @returns {{model: import("./parameters.js").Model, notes: string[], relevant: string}|
 *   {problem: import("./limits.js").Problem}} `notes`: what was assumed or not counted, in sentences; `relevant`: a config
 *   of only the fields that were read, with the same result
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
    inner !== outer || whole?.text
      ? [msg`Only the text model is counted, without the encoders for images and audio.`]
      : [];
  if (fields.flag("is_encoder_decoder")) {
    throw new Refused(
      "is_encoder_decoder",
      msg`is_encoder_decoder is true. Such a decoder stores further caches, which this calculator cannot count.`,
    );
  }
  let model = family ? modelOf(fields, family, kind) : likeLlama(fields, kind, notes);
  const head = whole?.text ? new Fields(outer, whole.defaults) : null;
  if (head) model = { ...model, tied: tiedOf(head, fields) || Boolean(whole.tied_inside && model.tied) };
  if (fields.has("quantization_config")) {
    notes.push(msg`This config has quantized weights. Choose their dtype above.`);
  }
  if (fields.has("num_nextn_predict_layers") && inner.num_nextn_predict_layers > 0) {
    notes.push(msg`The layers for multi-token prediction (num_nextn_predict_layers) are not counted.`);
  }
  if (model.window?.chunked) {
    notes.push(msg`Layers with chunked attention are counted with a whole chunk, the most that they store.`);
  }
  if (fields.assumed.size) {
    const values = { ...fields.defaults, ...whole?.defaults };
    const defaults = [...fields.assumed].map((field) => `${field} = ${values[field]}`).join(", ");
    notes.push(msg`Missing fields have the defaults of this family in transformers: ${defaults}.`);
  }
  tooLarge(model);
  return { model, notes, relevant: relevantFields(fields, kind, head, inner !== outer) };
}

/** @returns {import("./families.js").Family|undefined} */
function familyOf(kind) {
  return typeof kind === "string" && Object.hasOwn(FAMILIES, kind) ? FAMILIES[kind] : undefined;
}

/** The family of the text model inside a multimodal one: its own name, if it has one. */
function textKind(inner, outer, whole) {
  return inner === outer ? whole.text : (inner.model_type ?? whole.text);
}

/** The LM head is outside the text model, and so is the flag that ties it. */
function tiedOf(head, fields) {
  if (!head.has("tie_word_embeddings")) fields.assumed.add("tie_word_embeddings");
  return head.flag("tie_word_embeddings");
}

/** Short enough for an address: an object is written as {}, since nothing reads what is in it. */
function relevantFields({ raw, seen }, kind, head, inside) {
  const fields = [...seen].filter((field) => Object.hasOwn(raw, field));
  const plain = (value) => (typeof value === "object" && value !== null && !Array.isArray(value) ? {} : value);
  const fieldsRead = { model_type: kind, ...Object.fromEntries(fields.map((field) => [field, plain(raw[field])])) };
  if (!head) return JSON.stringify(inside ? { text_config: fieldsRead } : fieldsRead);
  const { model_type, tie_word_embeddings } = head.raw;
  return JSON.stringify({ model_type, tie_word_embeddings, text_config: fieldsRead });
}

function parsed(text) {
  if (text.length > MOST_CHARACTERS) {
    const [characters, most] = [text.length, MOST_CHARACTERS].map(integer);
    throw new Refused("config.json", msg`The text has ${characters} characters; at most ${most} are allowed.`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refused("config.json", msg`The text is not JSON: ${error.message}.`);
  }
}

function objectOf(value, field) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Refused(field, msg`${field} is ${shown(value)}; it must be an object.`);
  }
  return value;
}

/** Reads a config of an unknown family as if it were a Llama, unless one of its fields shows that it is not. */
function likeLlama(fields, kind, notes) {
  const unknown =
    typeof kind === "string"
      ? msg`The family ${shown(kind)} is unknown.`
      : msg`The config does not name its family (model_type).`;
  const refuse = (field, why) => {
    throw new Refused(field, `${unknown} ${why}`);
  };
  const missing = ["num_hidden_layers", "hidden_size", "num_attention_heads"].find((field) => !fields.has(field));
  if (missing) refuse("model_type", msg`It cannot be read as a Llama model, because ${missing} is missing.`);
  const other = [...OTHER_CACHES, "kv_lora_rank"].find((field) => fields.has(field));
  if (other) refuse(other, msg`It cannot be read as a Llama model, because ${other} changes what the cache stores.`);
  const experts = EXPERTS.find((field) => fields.has(field));
  if (experts) {
    refuse(experts, msg`It has experts (${experts}), whose number of parameters depends on the family.`);
  }
  const unlike = UNLIKE_LLAMA.find((field) => fields.has(field) && fields.raw[field] !== false);
  if (unlike) {
    const families = textFamilies().join(", ");
    const why = msg`It cannot be read as a Llama model, because ${unlike} changes its layers.`;
    refuse(unlike, `${why} ${msg`Known families: ${families}.`}`);
  }
  fields.defaults = FAMILIES.llama.defaults;
  const model = llama(fields, FAMILIES.llama, "llama");
  notes.push(`${unknown} ${msg`It is read as a Llama model, in which every layer stores every token.`}`);
  return model;
}

function textFamilies() {
  return Object.keys(FAMILIES).filter((name) => !FAMILIES[name].text);
}

/** Each size can be within its bound, and their product too large. */
function tooLarge(model) {
  const one = { context: 1, requests: 1, prefix: 0, gpus: 1, gpu: { memory: 1, bandwidth: 1, flops: 1 } };
  const stored = { dtype: "fp32" };
  if (problemOf({ ...one, cache: stored, weights: stored }, model)) {
    throw new Refused("config.json", msg`A model of these sizes takes more than 9 PB, the limit of this calculator.`);
  }
}
