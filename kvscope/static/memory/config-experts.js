/** The experts of a config, by the rule of its family (model/families.py describes it). Pure. */

import { msg } from "../shared/words/msg.js";
import { Refused } from "./config-fields.js";
import { numbered } from "./config-windows.js";

/**
 * @param {import("./config-fields.js").Fields} fields
 * @param {Object|undefined} rule `experts` of the family
 * @param {number} layers
 * @returns {import("../shared/sizes/parameters.js").Model["moe"]}
 */
export function expertsOf(fields, rule, layers) {
  if (!rule) return null;
  const count = fields.nameOf(rule.count);
  if (rule.after && fields.isNull(count)) return null;
  const { frequency } = rule;
  if (frequency && fields.whole(frequency, 1) !== 1) {
    throw new Refused(
      frequency,
      msg`${frequency} is not 1. This calculator cannot count experts in only some of the later layers.`,
    );
  }
  const sparse = sparseLayers(fields, rule, layers).length;
  const [experts, chosen] = [fields.whole(count), fields.whole("num_experts_per_tok")];
  if (chosen > experts) {
    throw new Refused(
      "num_experts_per_tok",
      msg`num_experts_per_tok is ${chosen}, but the model has ${experts} experts.`,
    );
  }
  const d_expert = fields.size(rule.width);
  return { experts, chosen, ...sharedOf(fields, rule), d_expert, dense_layers: layers - sparse };
}

/** @returns {number[]} the layers that have experts */
function sparseLayers(fields, { every, except, after, listed }, layers) {
  if (listed && fields.has(listed)) return [...new Set(fields.layers(listed).filter((layer) => layer < layers))];
  const first = after ? fields.whole(after, 0, 0) : 0;
  if (first > layers) {
    throw new Refused(after, msg`${after} is ${first}, but the model has ${layers} layers.`);
  }
  const step = every ? fields.whole(every, 1) : 1;
  const dense = except ? fields.layers(except) : [];
  return numbered(layers, (layer) => layer >= first && (layer + 1) % step === 0 && !dense.includes(layer));
}

/** @returns {{shared: number, d_shared?: number}} the experts that every token uses */
function sharedOf(fields, { shared = 0, shared_width: width }) {
  const d_shared = width ? fields.whole(width, 0, 0) : 0;
  if (d_shared) return { shared: 1, d_shared };
  if (typeof shared === "number") return { shared };
  return { shared: fields.isNull(shared) ? 0 : fields.whole(shared, 0, 0) };
}
