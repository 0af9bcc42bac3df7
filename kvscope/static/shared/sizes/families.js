/**
 * The table of families, and the facts about a family's layers that are not sizes. The file families.json is a copy of the one
 * in model/, which `python -m tools.families` writes; model/families.py describes it. Pure.
 *
 * @typedef {Object} Family
 * @property {Object<string, string|string[]|null>} fields by the calculator's name of a size, the names that it has in a config
 * @property {Object<string, number|boolean>} defaults
 * @property {Object<string, number|boolean|string>} layer
 * @property {Object<string, number|string|string[]>} [experts]
 * @property {Object<string, number|string>} [window]
 * @property {{mlp: "swiglu"|"geglu"|"gelu"|"gelu_erf", scales_embedding?: boolean, caps?: {score: string, logit: string}}} [computed] what this engine computes of it; `caps`: the fields of the
 *   caps of scores and logits
 * @property {boolean} [latent]
 * @property {number} [mlp_widths]
 * @property {string} [kv_heads_if]
 * @property {string} [one_kv_head_if]
 * @property {string} [text]
 * @property {boolean} [tied_inside]
 * @property {string[]} [ignored]
 * @property {string[]} [required]
 *
 * @typedef {Object} Layer
 * @property {boolean} [gated] an MLP of three matrices, not two
 * @property {number} norms before and after the halves of a layer
 * @property {boolean} [centred] whether a norm shifts too, and so has two vectors
 * @property {boolean} [qkv_bias]
 * @property {boolean} [out_bias]
 * @property {boolean} [mlp_bias]
 * @property {boolean} [latent_bias] of what makes the latent vectors of q, K and V
 * @property {boolean} [sinks] a learned number for each head, beside the scores
 * @property {boolean} [expert_bias] of every matrix of an expert, and of the router
 * @property {boolean} [head_bias] of the LM head
 * @property {boolean} [qk_norm] of each head's q and k
 * @property {boolean} [qk_norm_wide] of all heads' q together, and of all k
 * @property {boolean} [gated_queries] whether q's matrix makes a gate for the output too
 * @property {boolean} [shared_gate] whether a learned row weighs the output of the shared experts
 * @property {boolean} [parallel] whether the MLP reads the row that attention reads
 * @property {boolean} [positions] whether positions are learned rows
 */

import json from "./families.json" with { type: "json" };

const table = /** @type {*} */ (json);
/**
 * The largest value accepted for a size, by its field: at least a hundred times that of any model.
 *
 * @type {Object<string, number>}
 */
export const LARGEST = table.largest;
/** @type {number} that of a field which is not in `LARGEST` */
export const LARGEST_WIDTH = table.largest_width;
/**
 * Fields that change neither the parameters nor the cache; tests/static/memory/test_default_configs.py compares models that
 * differ only in these.
 *
 * @type {{names: string[], patterns: string[], at: Object<string, string|boolean>}}
 */
export const WITHOUT_SIZE = table.without_size;
/** @type {Object<string, Family>} by `model_type` */
export const FAMILIES = Object.fromEntries(
  Object.entries(table.families).map(([name, family]) => [
    name,
    { ...family, fields: { ...table.fields, ...family.fields } },
  ]),
);

/** @returns {Family|undefined} */
export function familyOf(kind) {
  return typeof kind === "string" && Object.hasOwn(FAMILIES, kind) ? FAMILIES[kind] : undefined;
}

/** @returns {string[]} the families of text models, all that a config can be of */
export function textFamilies() {
  return Object.keys(FAMILIES).filter((name) => !FAMILIES[name].text);
}

/**
 * @param {Family} family
 * @param {(field: string) => boolean} [flag] the value in a config; by default that of the family
 * @returns {Layer}
 */
export function layerOf({ layer, defaults }, flag = (field) => /** @type {boolean} */ (defaults[field])) {
  const facts = Object.entries(layer).map(([fact, is]) => [fact, typeof is === "string" ? flag(is) : is]);
  return Object.fromEntries(facts);
}
