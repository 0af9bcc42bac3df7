/** Checked access to the fields of a config.json, which can have any content. Pure. */

import { LARGEST, LARGEST_WIDTH } from "../shared/sizes/families.js";
import { msg } from "../shared/words/msg.js";
import { faultOf } from "./limits.js";

const SHOWN_CHARACTERS = 40;

/** A config that this calculator cannot count; its message is for the page. */
export class Refused extends Error {
  constructor(field, text) {
    super(text);
    this.field = field;
  }
}

/** @returns {Refused} */
export function missingField(field) {
  return new Refused(field, msg`${field} is missing. The size of the cache or of the weights depends on it.`);
}

export class Fields {
  /**
   * @param {Object} raw
   * @param {Object<string, number|boolean>} defaults the defaults of the family's class
   */
  constructor(raw, defaults) {
    this.raw = raw;
    this.defaults = defaults;
    /** @type {Set<string>} the fields that were read */
    this.seen = new Set();
    /** @type {Set<string>} missing sizes, for which the default of the class was used */
    this.assumed = new Set();
  }

  /** Whether the config has a value; with `assumed`, also whether the family's class has a default. */
  has(field, assumed = false) {
    this.seen.add(field);
    if (Object.hasOwn(this.raw, field)) return this.raw[field] !== null;
    return assumed && Object.hasOwn(this.defaults, field);
  }

  /** Whether the field is null, which differs from a missing field. */
  isNull(field) {
    this.seen.add(field);
    return Object.hasOwn(this.raw, field) && this.raw[field] === null;
  }

  /** @returns {string} of several names of one field, the first that the config has, or for which the class has a default */
  nameOf(names) {
    const list = [names].flat();
    return (
      list.find((field) => this.has(field)) ?? list.find((field) => Object.hasOwn(this.defaults, field)) ?? list[0]
    );
  }

  /** @returns {number} a whole number; for a missing field the default of the class, or else `fallback` */
  whole(field, fallback = null, least = 1) {
    if (!this.has(field)) {
      const value = Object.hasOwn(this.defaults, field) ? this.defaults[field] : fallback;
      if (value === null) throw missingField(field);
      return /** @type {number} */ (value);
    }
    const value = this.raw[field];
    const fault = faultOf(field, value, least, LARGEST[field] ?? LARGEST_WIDTH, shown(value));
    if (fault) throw new Refused(field, fault);
    return value;
  }

  /** @returns {number} as `whole`; a default of the class is noted as assumed */
  size(field, fallback = null) {
    if (!this.has(field) && Object.hasOwn(this.defaults, field)) this.assumed.add(field);
    return this.whole(field, fallback);
  }

  /** @returns {boolean} */
  flag(field) {
    if (!this.has(field)) return Boolean(this.defaults[field]);
    if (typeof this.raw[field] !== "boolean") {
      throw new Refused(field, msg`${field} is ${shown(this.raw[field])}; it must be true or false.`);
    }
    return this.raw[field];
  }

  /** @returns {number[]} layer numbers; empty for a missing field */
  layers(field) {
    if (!this.has(field)) return [];
    const value = this.raw[field];
    if (!Array.isArray(value) || !value.every((each) => Number.isInteger(each) && each >= 0)) {
      throw new Refused(field, msg`${field} is ${shown(value)}; it must be a list of layer numbers.`);
    }
    return value;
  }

  /** @returns {number[]|null} a 0 or a 1 for each layer; null for a missing or empty list */
  zerosAndOnes(field, layers) {
    const value = this.layers(field);
    if (!value.length) return null;
    if (value.length < layers)
      throw new Refused(field, msg`${field} must be a list of ${layers} numbers, one for each layer.`);
    return value;
  }

  /** @returns {string[]|null} a name for each layer */
  kinds(field, layers) {
    if (!this.has(field)) return null;
    const value = this.raw[field];
    if (!Array.isArray(value) || value.length !== layers) {
      throw new Refused(field, msg`${field} must be a list of ${layers} names, one for each layer.`);
    }
    return value.map(String);
  }
}

/** @returns {Object} the value, which must be one */
export function objectOf(value, field) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Refused(field, msg`${field} is ${shown(value)}; it must be an object.`);
  }
  return value;
}

/** @returns {string} any value, in a few characters */
export function shown(value) {
  const text = typeof value === "object" && value !== null ? jsonOf(value) : (JSON.stringify(value) ?? "");
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

/** JSON.stringify throws on a value that nests too deeply. */
function jsonOf(value) {
  try {
    return JSON.stringify(value);
  } catch {
    return msg`a deeply nested value`;
  }
}
