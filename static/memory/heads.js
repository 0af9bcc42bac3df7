/** The same model with other numbers of KV heads: how much sharing K and V among heads saves. Pure. */

import { joined, opened, term } from "./arithmetic.js";
import { BITS } from "./dtypes.js";
import { cacheBytesPerToken } from "./sizes.js";

/**
 * @typedef {{name: string, says: string, heads: number|null, own: boolean, bytes: import("./arithmetic.js").Result}} Variant
 *
 * @param {import("./parameters.js").Model} model
 * @param {import("./dtypes.js").Stored} stored
 * @returns {Variant[]} with as many KV heads as heads (MHA), as the model has it, with one (MQA); each once
 */
export function variants(model, stored) {
  const { heads, kv_heads: kvHeads, mla } = model;
  const bytesOf = (count) =>
    mla ? merged(model, count, stored) : cacheBytesPerToken({ ...model, kv_heads: count }, stored);
  const all = { name: "MHA", says: "each head its own K and V", heads };
  const one = { name: "MQA", says: "all heads share one", heads: 1 };
  const own = mla
    ? { name: "MLA", says: "one vector, of which K and V are made again", heads: null }
    : { name: "GQA", says: `${heads / kvHeads} heads share one`, heads: kvHeads };
  const between = mla || (kvHeads > 1 && kvHeads < heads);
  return [all, ...(between ? [own] : []), one].map((each) => ({
    ...each,
    own: mla ? each === own : each.heads === kvHeads,
    bytes: each.heads === null ? cacheBytesPerToken(model, stored) : bytesOf(each.heads),
  }));
}

/** What a model with latent attention would keep without it: K and V have different sizes there. Scales are not counted. */
function merged({ layers, mla }, count, { dtype }) {
  const dims = [term("q dim", mla.qk_nope_head_dim + mla.qk_rope_head_dim), term("value dim", mla.v_head_dim)];
  return joined("×", "B/token", [
    term("layers", layers),
    term("KV heads", count),
    opened("K and V dim", joined("+", "", dims)),
    term("bytes per number", BITS[dtype] / 8),
  ]);
}
