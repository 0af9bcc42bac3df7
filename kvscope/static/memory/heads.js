/** The same model with other numbers of KV heads: how much sharing K and V among heads saves. Pure. */

import { derived, joined, term } from "../shared/sizes/arithmetic.js";
import { BITS } from "../shared/sizes/dtypes.js";
import { cacheBytesPerToken } from "../shared/sizes/sizes.js";
import { msg } from "../shared/words/msg.js";

/**
 * @typedef {{name: string, text: string, heads: number|null, own: boolean, bytes: import("../shared/sizes/arithmetic.js").Result}} Variant
 *
 * @param {import("../shared/sizes/parameters.js").Model} model
 * @param {import("../shared/sizes/dtypes.js").Stored} stored
 * @returns {Variant[]} one KV head for each query head (MHA), the number of the model, one KV head (MQA); equal ones once
 */
export function variants(model, stored) {
  const { heads, kv_heads: kvHeads, mla } = model;
  const bytesOf = (count) =>
    mla ? merged(model, count, stored) : cacheBytesPerToken({ ...model, kv_heads: count }, stored);
  const all = { name: "MHA", text: msg`Each head has its own K and V.`, heads };
  const one = { name: "MQA", text: msg`All heads share one K and V.`, heads: 1 };
  const own = mla
    ? { name: "MLA", text: msg`Each layer stores one latent vector; K and V are computed from it.`, heads: null }
    : { name: "GQA", text: msg`Groups of ${heads / kvHeads} heads share one K and V.`, heads: kvHeads };
  const between = mla || (kvHeads > 1 && kvHeads < heads);
  return [all, ...(between ? [own] : []), one].map((each) => ({
    ...each,
    own: mla ? each === own : each.heads === kvHeads,
    bytes: each.heads === null ? cacheBytesPerToken(model, stored) : bytesOf(each.heads),
  }));
}

/** The cache of a model with latent attention if it stored K and V themselves, whose sizes differ. Scales are not counted. */
function merged({ layers, mla }, count, { dtype }) {
  const dims = [term(msg`q dim`, mla.qk_nope_head_dim + mla.qk_rope_head_dim), term(msg`value dim`, mla.v_head_dim)];
  return joined("×", "B/token", [
    term(msg`layers`, layers),
    term(msg`KV heads`, count),
    derived(msg`K and V dim`, joined("+", "", dims)),
    term(msg`bytes per number`, BITS[dtype] / 8),
  ]);
}
