/**
 * Names of tensors, shared by the picture, the code and the lessons: those of hook points relative to their block (`attn.k`,
 * `mlp.hidden`, `resid_in`), `cache.k`, `cache.v`, `tokens`, `embedded`, `final`, `logits` and `choice`. Pure.
 *
 * The store's `lit` names what the page outlines, `pointed` what the pointer or the cursor of a picture is at.
 */

/**
 * @param {{pointed: string[], hover: Object|null}} state of the Stage's store
 * @returns {string[]} the names under the pointer; none elsewhere
 */
export function namesUnder({ pointed, hover }) {
  if (pointed.length > 0 || !hover) return pointed;
  if (hover.kvHead !== undefined) return ["cache.k", "cache.v"];
  if (hover.head !== undefined) return ["attn.weights"];
  return hover.query === undefined ? [] : ["resid_out"];
}

/** @returns {string[]} the names in a `data-names` attribute */
export function namesIn(text) {
  return text ? text.split(" ") : [];
}

/** @returns {boolean} whether two lists of names are the same */
export function sameNames(one, other) {
  return one.length === other.length && one.every((name, at) => name === other[at]);
}
