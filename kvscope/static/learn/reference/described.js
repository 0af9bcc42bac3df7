/** Describes a known model as an `open` frame describes the running one. Pure. */

import { FAMILIES, layerOf } from "../../shared/sizes/families.js";

/** The activation of each kind of MLP. */
const ACTIVATIONS = { swiglu: "silu", geglu: "gelu_tanh", gelu: "gelu_tanh", gelu_erf: "gelu_erf" };
const STORED = { dtype: "bfloat16", element_bytes: 2 };

/**
 * @param {Object[]} models
 * @returns {Object[]} those whose computation is that of this engine, dense and without latent attention
 */
export function describable(models) {
  return models.filter(({ family, moe, mla }) => FAMILIES[family].computed && !moe && !mla);
}

/**
 * @param {Object} model one of `describable`
 * @returns {Object} the fields of an `open` frame's model that say what it computes, with numbers stored in 16 bits
 */
export function described({ family, window, ...sizes }) {
  const { computed, defaults } = FAMILIES[family];
  const layer = layerOf(FAMILIES[family]);
  const windowOf = (at) => (window?.layers.includes(at) ? window.tokens : null);
  return {
    ...sizes,
    ...STORED,
    norm: layer.centred ? "layer" : "rms",
    positions: layer.positions ? "learned" : "rotary",
    gated: layer.gated ?? false,
    activation: ACTIVATIONS[computed.mlp],
    post_norms: layer.norms === 4,
    score_width: sizes.score_width ?? sizes.head_dim,
    ...(computed.caps && { score_cap: defaults[computed.caps.score], logit_cap: defaults[computed.caps.logit] }),
    ...(layer.parallel && { parallel: true }),
    qk_norm: layer.qk_norm ?? false,
    experts: null,
    embedding_scale: computed.scales_embedding ? Math.sqrt(sizes.d) : 1,
    windows: window && Array.from({ length: sizes.layers }, (_, at) => windowOf(at)),
  };
}
