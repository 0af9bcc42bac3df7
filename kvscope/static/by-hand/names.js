/** The names in the code of the tensors of an example (shared/state/lit.js). Pure. */

/**
 * Tensors of each block, without the number of its head; the first one computes it. Without norms and a residual stream,
 * several tensors have the same numbers.
 */
const NAMES = {
  ...{ embedding: ["embedded"], position: ["embedded"], x: ["embedded", "resid_in", "attn.normed"] },
  ...{ q: ["attn.q", "attn.q_rot"], k: ["attn.k", "attn.k_rot", "cache.k"], v: ["attn.v", "cache.v"] },
  ...{ kt: ["cache.k"], again: ["cache.v"] },
  ...{ scores: ["attn.scores"], scaled: ["attn.scores"], masked: ["attn.scores"], weights: ["attn.weights"] },
  ...{ mixed: ["attn.mixed"], joined: ["attn.mixed"], output: ["attn.change", "resid_mid", "resid_out", "final"] },
  ...{ share: ["attn.change"], summed: ["attn.change"] },
  logits: ["logits"],
};
/** The tensors of an example with norms, a residual stream and an MLP, where they differ or are more. */
const OF_WHOLE = {
  ...{ x: ["embedded", "resid_in"], attn_rms: ["attn.normed"], attn_normed: ["attn.normed"] },
  ...{ output: ["attn.change"], mid: ["resid_mid"], mlp_rms: ["mlp.normed"], mlp_normed: ["mlp.normed"] },
  ...{ gate: ["mlp.gate"], up: ["mlp.raised"], hidden: ["mlp.hidden"], change: ["mlp.change"], out: ["resid_out"] },
  ...{ final_rms: ["final"], final_normed: ["final"] },
};
/** Uses of the other blocks: the product with a matrix, what follows from the logits. */
const FOR = {
  ...{ w_q: "attn.q", w_k: "attn.k", w_v: "attn.v", w_o: "attn.change", lm_head: "logits" },
  ...{ w_gate: "mlp.gate", w_up: "mlp.raised", w_down: "mlp.change" },
  ...{ cooled: "logits", chances: "logits" },
};

const withoutHead = (block) => block.replace(/\d$/, "");

/** @param {string} block @param {boolean} [whole] as in a table @returns {string[]} the tensors that a block shows; none of a weight matrix */
export function namesOf(block, whole = false) {
  const name = withoutHead(block);
  return (whole && OF_WHOLE[name]) || (NAMES[name] ?? []);
}

/** @returns {string} the tensor whose line computes a block, or uses it */
export function operationOf(block, whole = false) {
  return namesOf(block, whole)[0] ?? FOR[withoutHead(block)];
}
