/** Checked access to the fields of a config.json that anybody may have written. Pure. */

import { faultOf } from "./limits.js";

/**
 * The largest of each size that is believed, a hundred times that of any model and more.
 *
 * @type {[number, string[]][]}
 */
const BELIEVED = [
  [10_000, ["num_hidden_layers", "n_layer", "first_k_dense_replace", "max_window_layers"]],
  [10_000, ["num_attention_heads", "num_key_value_heads", "num_kv_heads", "n_head"]],
  [100_000, ["num_local_experts", "num_experts", "n_routed_experts", "n_shared_experts", "num_experts_per_tok"]],
  [100_000_000, ["vocab_size", "max_position_embeddings", "n_positions", "sliding_window"]],
];
const BELIEVED_WIDTH = 1_000_000;
const SHOWN = 40;

/** What is wrong with a field; caught where a config is read. */
export class Refused extends Error {
  constructor(field, text) {
    super(text);
    this.field = field;
  }
}

export class Fields {
  constructor(raw) {
    this.raw = raw;
    /** @type {Set<string>} the fields that were looked at */
    this.seen = new Set();
    /** @type {Set<string>} those of them that were left out, for which the class's own value was taken */
    this.assumed = new Set();
  }

  has(field) {
    this.seen.add(field);
    return Object.hasOwn(this.raw, field) && this.raw[field] !== null;
  }

  /** @returns {number} a whole number, or `fallback` where there is none */
  whole(field, fallback = null, least = 1) {
    if (!this.has(field)) {
      if (fallback === null)
        throw new Refused(field, `${field} is missing, and the size of the cache or of the weights needs it.`);
      return fallback;
    }
    const value = this.raw[field];
    const fault = faultOf(value, least, mostOf(field));
    if (fault) throw new Refused(field, `${field} ${typeof value === "number" ? "" : `(${shown(value)}) `}${fault}.`);
    return value;
  }

  /** @returns {number} a whole number, or what the family's class has where the config leaves it out */
  size(field, defaults, fallback = null) {
    if (!this.has(field) && Object.hasOwn(defaults, field)) this.assumed.add(field);
    return this.whole(field, defaults[field] ?? fallback);
  }

  /** @returns {boolean} */
  flag(field, fallback) {
    if (!this.has(field)) return fallback;
    if (typeof this.raw[field] !== "boolean") {
      throw new Refused(field, `${field} (${shown(this.raw[field])}) is neither true nor false.`);
    }
    return this.raw[field];
  }

  /** @returns {number[]} numbers of layers; none where the field is left out */
  layers(field) {
    if (!this.has(field)) return [];
    const value = this.raw[field];
    if (!Array.isArray(value) || !value.every((each) => Number.isInteger(each) && each >= 0)) {
      throw new Refused(field, `${field} (${shown(value)}) is not a list of layers.`);
    }
    return value;
  }

  /** @returns {Fields} the same as if there were no such field */
  without(field) {
    const { [field]: _left, ...raw } = this.raw;
    this.raw = raw;
    return this;
  }

  /** @returns {string[]|null} a name for each layer */
  kinds(field, layers) {
    if (!this.has(field)) return null;
    const value = this.raw[field];
    if (!Array.isArray(value) || value.length !== layers) {
      throw new Refused(field, `${field} is not a list of ${layers} names, one for each layer.`);
    }
    return value.map(String);
  }
}

function mostOf(field) {
  return BELIEVED.find(([, fields]) => fields.includes(field))?.[0] ?? BELIEVED_WIDTH;
}

/** @returns {string} any value, in a few characters */
export function shown(value) {
  const text = typeof value === "object" && value !== null ? wordsOf(value) : (JSON.stringify(value) ?? "nothing");
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

/** What nests too deeply for the engine of the browser is told all the same. */
function wordsOf(value) {
  try {
    return JSON.stringify(value);
  } catch {
    return "something that nests deeply";
  }
}
