/** Which layers of a config keep only so many tokens: as its family has it, or as `layer_types` names them one by one. Pure. */

import { Refused } from "./config-fields.js";

/** @returns {number[]} the numbers of layers for which that holds */
export const numbered = (layers, has) => Array.from({ length: layers }, (_, layer) => layer).filter(has);

/**
 * @param {import("./config-fields.js").Fields} fields
 * @param {Object|undefined} rule `window` of the family
 * @param {number} layers
 * @returns {import("./parameters.js").Model["window"]}
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
  if (other) throw new Refused(field, `${field} has ${other.slice(0, 40)}, whose cache is not known here.`);
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
