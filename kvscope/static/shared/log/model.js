/**
 * The model of a log: the `model` object of its `open` frame (docs/frames.md, Model fields). Pure.
 *
 * @typedef {Object} Kind the properties of a model other than sizes
 * @property {"rms"|"layer"} norm
 * @property {boolean} gated whether the MLP has a gate, and so three matrices instead of two
 * @property {"silu"|"gelu_tanh"|"gelu_erf"} activation inside the MLP
 * @property {"rotary"|"learned"|"none"} positions
 * @property {boolean} qk_norm whether q and k of each head are normalized
 * @property {boolean} post_norms whether attention and MLP norm what they add to the row
 * @property {number} embedding_scale what an embedding is multiplied by
 * @property {number} score_width q · k is divided by its root
 * @property {number} [score_cap] a score s becomes cap × tanh(s ÷ cap); absent: it stays as it is
 * @property {number} [logit_cap] the same for logits
 * @property {number} [rotary_dim] how many numbers of a head RoPE rotates; absent: all
 * @property {boolean} [parallel] whether the MLP reads the row that attention reads, not the row after attention
 * @property {{count: number, chosen: number, width: number}|null} experts of the MLPs that have some: how many, how many a row
 *   goes through, and the width of one
 * @property {(number|null)[]|null} windows how many keys a query of each layer sees, including its own; null: all; without a
 *   list, all in every layer
 * @property {boolean} tied whether the LM head uses the embedding table
 * @property {string} weight_dtype
 */

/**
 * Returns cap × tanh(value ÷ cap) (arXiv:2408.00118, section 2, logit soft-capping), or the value if there is no cap.
 *
 * @param {number} value
 * @param {number|null|undefined} cap
 */
export function capped(value, cap) {
  return cap ? cap * Math.tanh(value / cap) : value;
}

/** @returns {string} the formula of `capped`, as symbols */
export function cappedText(value, cap) {
  return `${cap} × tanh(${value} ÷ ${cap})`;
}

/**
 * @param {Object|null|undefined} run
 * @param {{sha256: string}|null|undefined} model that the server runs; without one, nothing is known
 * @returns {boolean} whether another model, or another program, computed the run
 */
export function isOfOtherModel(run, model) {
  if (!run?.open) return false;
  const { computed_by: by, sha256 } = run.open.model;
  return by !== undefined || Boolean(model && model.sha256 !== sha256);
}

const USUAL_BLOCK_SIZE = 16;

/** @returns {number} positions per block of the cache; a log without blocks is drawn as if it had them, without a word about them */
export function blockSizeOf({ open }) {
  return open.block_size ?? USUAL_BLOCK_SIZE;
}

/**
 * @param {Object} model
 * @param {boolean} sparse whether the layer has experts
 * @returns {number} multiply-adds per row in the MLP of a layer; with experts, of the router and of those that a row goes through
 */
export function mlpProducts(model, sparse) {
  const { d, gated, experts } = model;
  if (!sparse) return matricesOf(model).mlp;
  return experts.chosen * (gated ? 3 : 2) * d * experts.width + d * experts.count;
}

/**
 * The number of parameters of the matrices (Llama: Touvron et al. 2023, section 2.2; GPT-2: Radford et al. 2019).
 *
 * @param {Object} model
 * @returns {{attention: number, mlp: number, positions: number}} of one layer's attention and MLP; of the learned positions
 */
export function matricesOf({ d, heads, kv_heads, head_dim, d_mlp, context, gated, positions }) {
  return {
    attention: 2 * d * head_dim * (heads + kv_heads),
    mlp: (gated ? 3 : 2) * d * d_mlp,
    positions: positions === "learned" ? context * d : 0,
  };
}
