/**
 * The table of families, which the server's checkpoint reader uses too (model/families.py describes it), and the facts about
 * a family's layers that are not sizes. Pure.
 *
 * @typedef {Object} Family
 * @property {Object<string, number|boolean>} defaults
 * @property {Object<string, number|boolean|string>} layer
 * @property {Object<string, number|string>} [window]
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
 * @property {boolean} [positions] whether positions are learned rows
 */

import families from "./families.json" with { type: "json" };

/** @type {Object<string, Family>} by `model_type` */
export const FAMILIES = /** @type {*} */ (families);

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
