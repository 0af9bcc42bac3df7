/**
 * Reads a pasted config.json in the format of Hugging Face: returns a model for the calculator, or the field that is wrong and
 * why. Pure.
 */

import { integer } from "../shared/facts/format.js";
import { familyOf } from "../shared/sizes/families.js";
import { msg } from "../shared/words/msg.js";
import { refuseUnknownFields } from "./config-allowed.js";
import { modelOf } from "./config-families.js";
import { Fields, objectOf, Refused, shown } from "./config-fields.js";
import { TEXT_KEY, textModelOf, tiedOf } from "./config-text.js";
import { problemOf } from "./limits.js";

const MOST_CHARACTERS = 200_000;
const OTHER_PARTS = ["vision_config", "audio_config"];

/**
 * @param {string} text
 * @returns {{model: import("../shared/sizes/parameters.js").Model, notes: string[], relevant: string}|
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
  const described = textModelOf(outer);
  const whole = familyOf(outer.model_type);
  const { inner, path } = described;
  const family = familyOf(described.kind);
  if (!family || family.text) throw unknownFamily(described.kind, path);
  const name = /** @type {string} */ (described.kind);
  const fields = new Fields(inner, family.defaults);
  const nested = path.length > 0 || Boolean(whole?.text);
  const partial = nested || OTHER_PARTS.some((field) => Object.hasOwn(inner, field));
  const notes = partial ? [msg`Only the text model is counted, without the encoders for images and audio.`] : [];
  if (described.levels.some((level) => level.is_encoder_decoder === true)) {
    throw new Refused(
      "is_encoder_decoder",
      msg`is_encoder_decoder is true. Such a decoder stores further caches, which this calculator cannot count.`,
    );
  }
  fields.seen.add("is_encoder_decoder");
  let model = modelOf(fields, family, name);
  const head = new Fields(outer, whole?.defaults ?? {});
  model = { ...model, tied: tiedOf(described, whole, head, model.tied) };
  if (whole?.text && !head.has("tie_word_embeddings")) fields.assumed.add("tie_word_embeddings");
  if (fields.has("quantization_config")) {
    notes.push(msg`This config has quantized weights. Choose their dtype above.`);
  }
  if (fields.has("num_nextn_predict_layers") && inner.num_nextn_predict_layers > 0) {
    notes.push(msg`The layers for multi-token prediction (num_nextn_predict_layers) are not counted.`);
  }
  if (model.window?.chunked) {
    notes.push(msg`Layers with chunked attention are counted with a whole chunk, the most that they store.`);
  }
  refuseUnknownFields(fields, family, name);
  if (fields.assumed.size) {
    const values = { ...fields.defaults, ...whole?.defaults };
    const defaults = [...fields.assumed].map((field) => `${field} = ${values[field]}`).join(", ");
    notes.push(msg`Missing fields have the defaults of this family in transformers: ${defaults}.`);
  }
  tooLarge(model);
  return { model, notes, relevant: relevantFields(fields, described, nested) };
}

/** @returns {Refused} with what the visitor can do */
function unknownFamily(kind, path) {
  const field = [...path, "model_type"].join(".");
  const what =
    typeof kind === "string"
      ? msg`This page does not know the family ${shown(kind)} (${field}), so it cannot tell which fields change its sizes.`
      : msg`The config does not name its family (model_type).`;
  return new Refused(
    field,
    `${what} ${msg`Choose the model in the list that is nearest to yours, or write a known family as model_type if its layers are the same.`}`,
  );
}

/** Short enough for an address: an object is written as {}, since nothing reads what is in it. */
function relevantFields({ raw, seen }, { path, levels, kind }, nested) {
  const fields = [...seen].filter((field) => Object.hasOwn(raw, field));
  const plain = (value) => (typeof value === "object" && value !== null && !Array.isArray(value) ? {} : value);
  const inner = { model_type: kind, ...Object.fromEntries(fields.map((field) => [field, plain(raw[field])])) };
  if (!nested) return JSON.stringify(inner);
  const keys = path.length ? path : [TEXT_KEY];
  const outside = path.length ? levels.slice(0, -1) : levels;
  return JSON.stringify(
    keys.reduceRight((inside, key, at) => {
      const { model_type, tie_word_embeddings } = outside[at];
      return { model_type, tie_word_embeddings, [key]: inside };
    }, inner),
  );
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

/** Each size can be within its bound, and their product too large. */
function tooLarge(model) {
  const one = { context: 1, requests: 1, prefix: 0, gpus: 1, gpu: { memory: 1, bandwidth: 1, flops: 1 } };
  const stored = { dtype: "fp32" };
  if (problemOf({ ...one, cache: stored, weights: stored }, model)) {
    throw new Refused("config.json", msg`A model of these sizes takes more than 9 PB, the limit of this calculator.`);
  }
}
