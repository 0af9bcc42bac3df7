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
  logits: ["logits"],
};
/** Uses of the other blocks: the product with a matrix, what follows from the logits. */
const FOR = {
  ...{ w_q: "attn.q", w_k: "attn.k", w_v: "attn.v", w_o: "attn.change", lm_head: "logits" },
  ...{ cooled: "logits", chances: "logits" },
};

const withoutHead = (block) => block.replace(/\d$/, "");

/** @returns {string[]} the tensors that a block shows; none of a weight matrix */
export function namesOf(block) {
  return NAMES[withoutHead(block)] ?? [];
}

/** @returns {string} the tensor whose line computes a block, or uses it */
export function operationOf(block) {
  return namesOf(block)[0] ?? FOR[withoutHead(block)];
}
