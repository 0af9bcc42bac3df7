/**
 * Which fields a config may have beside those that its family's reader reads: those that change neither the parameters nor the
 * cache. Any other field is refused, since a model that the reader does not understand looks like one that it does. Pure.
 */

import { WITHOUT_SIZE } from "../shared/sizes/families.js";
import { msg } from "../shared/words/msg.js";
import { Refused } from "./config-fields.js";

const NAMES = new Set(WITHOUT_SIZE.names);
const PATTERNS = WITHOUT_SIZE.patterns.map((pattern) => new RegExp(pattern));

/**
 * @param {import("./config-fields.js").Fields} fields after the family's reader has read them
 * @param {import("../shared/sizes/families.js").Family} family
 * @param {string} name of the family
 */
export function refuseUnknownFields({ raw, seen }, { defaults, window, ignored = [] }, name) {
  const windows = window ? ["sliding_window", "layer_types", "no_rope_layers"] : ["no_rope_layers"];
  const understood = new Set([...seen, ...Object.keys(defaults), ...ignored, ...windows]);
  const field = Object.keys(raw).find(
    (each) =>
      !understood.has(each) && !isEmpty(raw[each]) && !withoutSize(each, raw[each]) && !allFull(each, raw[each]),
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

/** `at`: fields that say what the family is anyway; with another value they would say something else. */
function withoutSize(field, value) {
  const same = Object.hasOwn(WITHOUT_SIZE.at, field) && WITHOUT_SIZE.at[field] === value;
  return same || NAMES.has(field) || PATTERNS.some((pattern) => pattern.test(field));
}

/** A list that names every layer as one that stores all tokens, in a family of which all layers do. */
function allFull(field, value) {
  return field === "layer_types" && Array.isArray(value) && value.every((kind) => kind === "full_attention");
}
