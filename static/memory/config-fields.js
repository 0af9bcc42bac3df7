/** Checked access to the fields of a config.json that anybody may have written. Pure. */

import { faultOf } from "./limits.js";

/**
 * The largest of each size that is believed, a hundred times that of any model and more.
 *
 * @type {[number, string[]][]}
 */
const BELIEVED = [
  [10_000, ["num_hidden_layers", "n_layer", "first_k_dense_replace", "max_window_layers"]],
  [10_000, ["num_attention_heads", "num_key_value_heads", "num_kv_heads", "n_head", "num_kv_shared_layers"]],
  [10_000, ["linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim"]],
  [100_000, ["num_local_experts", "num_experts", "n_routed_experts", "n_shared_experts", "num_experts_per_tok"]],
  [100_000_000, ["vocab_size", "max_position_embeddings", "n_positions", "sliding_window"]],
  [100_000_000, ["attention_chunk_size", "vocab_size_per_layer_input"]],
  [100, ["linear_conv_kernel_dim", "altup_num_inputs"]],
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
  /**
   * @param {Object} raw
   * @param {Object<string, number|boolean>} defaults what the class of the family has for a field that is left out
   */
  constructor(raw, defaults) {
    this.raw = raw;
    this.defaults = defaults;
    /** @type {Set<string>} the fields that were looked at */
    this.seen = new Set();
    /** @type {Set<string>} sizes that were left out, for which the class's own value was taken */
    this.assumed = new Set();
  }

  /** Whether the config has a value there; or, with `assumed`, whether the family's class has one. */
  has(field, assumed = false) {
    this.seen.add(field);
    if (Object.hasOwn(this.raw, field)) return this.raw[field] !== null;
    return assumed && Object.hasOwn(this.defaults, field);
  }

  /** Whether the config says that there is none of it, which is not to leave it out. */
  isNull(field) {
    this.seen.add(field);
    return Object.hasOwn(this.raw, field) && this.raw[field] === null;
  }

  /** @returns {number} a whole number; where there is none, what the class has, or else `fallback` */
  whole(field, fallback = null, least = 1) {
    if (!this.has(field)) {
      const value = Object.hasOwn(this.defaults, field) ? this.defaults[field] : fallback;
      if (value === null)
        throw new Refused(field, `${field} is missing, and the size of the cache or of the weights needs it.`);
      return /** @type {number} */ (value);
    }
    const value = this.raw[field];
    const fault = faultOf(value, least, mostOf(field));
    if (fault) throw new Refused(field, `${field} ${typeof value === "number" ? "" : `(${shown(value)}) `}${fault}.`);
    return value;
  }

  /** @returns {number} the same; that the class's own value was taken is worth saying */
  size(field, fallback = null) {
    if (!this.has(field) && Object.hasOwn(this.defaults, field)) this.assumed.add(field);
    return this.whole(field, fallback);
  }

  /** @returns {boolean} */
  flag(field) {
    if (!this.has(field)) return Boolean(this.defaults[field]);
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

  /** @returns {number[]|null} a 0 or a 1 for each layer; null where the list is left out or empty */
  zerosAndOnes(field, layers) {
    const value = this.layers(field);
    if (!value.length) return null;
    if (value.length < layers)
      throw new Refused(field, `${field} is not a list of ${layers} numbers, one for each layer.`);
    return value;
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
