/** Which layers of a config have a window: by the rule of its family, or by `layer_types`, which names each layer. Pure. */

import { msg } from "../shared/words/msg.js";
import { Refused } from "./config-fields.js";

/** @returns {number[]} the layer numbers for which `has` is true */
export const numbered = (layers, has) => Array.from({ length: layers }, (_, layer) => layer).filter(has);

/**
 * @param {import("./config-fields.js").Fields} fields
 * @param {Object|undefined} rule `window` of the family
 * @param {number} layers
 * @returns {import("../shared/sizes/parameters.js").Model["window"]}
 */
export function windowOf(fields, rule, layers) {
  if (!rule || (rule.only_if && !fields.flag(rule.only_if))) return null;
  const { tokens = "sliding_window", kind = "sliding_attention" } = rule;
  const named = fields.kinds("layer_types", layers);
  if (named) known("layer_types", named, [kind, "full_attention"]);
  const windowed = numbered(layers, named ? (layer) => named[layer] === kind : asTheFamily(fields, rule, layers));
  if (!windowed.length || fields.isNull(tokens) || !fields.has(tokens, true)) return null;
  return { tokens: fields.whole(tokens), layers: windowed, ...(kind === "chunked_attention" && { chunked: true }) };
}

export function known(field, named, kinds) {
  const other = named.find((kind) => !kinds.includes(kind));
  if (other) {
    const kind = other.slice(0, 40);
    throw new Refused(field, msg`${field} has ${kind}, a kind of layer whose cache this calculator cannot count.`);
  }
}

/** @returns {(layer: number) => boolean} */
function asTheFamily(fields, { from, but_each: butEach }, layers) {
  if (from) {
    const first = fields.whole(from, null, 0);
    return (layer) => layer >= first;
  }
  if (butEach === "no_rope_layer_interval") {
    const rotates = fields.zerosAndOnes("no_rope_layers", layers);
    if (rotates) return (layer) => rotates[layer] === 1;
  }
  if (!butEach) return () => true;
  const each = typeof butEach === "number" ? butEach : fields.whole(butEach);
  return (layer) => (layer + 1) % each !== 0;
}
