/**
 * Bytes of a KV cache and of weights: whole numbers below 2^53, which limits.js ensures. Pure.
 *
 * @typedef {import("./arithmetic.js").Result} Result
 * @typedef {import("./dtypes.js").Stored} Stored
 * @typedef {import("./parameters.js").Model} Model
 */

import { msg } from "../words/msg.js";
import { constant, derived, joined, term } from "./arithmetic.js";
import { vectorBytes } from "./dtypes.js";
import { parameters } from "./parameters.js";

/**
 * Computes what one layer stores of one token: 2 × KV heads × head dim × bytes (K and V, arXiv:1706.03762). Heads that share K and V
 * (GQA, arXiv:2305.13245) or all of them (MQA, arXiv:1911.02150) have fewer KV heads. MLA (arXiv:2405.04434) stores one
 * vector, from which K and V are computed: (KV rank + rotary dim) × bytes, once and not twice.
 *
 * @param {Model} model
 * @param {Stored} stored
 * @returns {Result} B
 */
export function layerBytesPerToken(model, stored) {
  return joined("×", "B", [...pair(model), ...vectorTerms(model, stored)]);
}

/**
 * Counts the layers that store their own K and V: all except those with linear attention and those that reuse the K and V of an
 * earlier layer.
 *
 * @param {Model} model
 * @returns {{all: import("./arithmetic.js").Term, windowed: number}} `windowed`: how many of them have a window
 */
function cachingLayers({ layers, linear, kv_shared: reusing = 0, window }) {
  const first = layers - reusing;
  const windowed = window?.layers.filter((layer) => layer < first).length ?? 0;
  if (!linear && !reusing) return { all: term(msg`layers`, layers), windowed };
  const others = [
    ...(linear ? [term(msg`linear attention layers`, linear.layers)] : []),
    ...(reusing ? [term(msg`reusing layers`, reusing)] : []),
  ];
  return {
    all: derived(msg`layers with their own K and V`, joined("−", "", [term(msg`layers`, layers), ...others])),
    windowed,
  };
}

/**
 * Computes what layers with linear attention store of a request of any length: for each value head a matrix, always in 32 bits, and
 * the newest q, k and v, which the convolution reads.
 *
 * @param {Model} model
 * @param {Stored} stored
 * @returns {Result} B
 */
function stateBytes({ linear }, stored) {
  const { layers, key_heads, value_heads, key_dim, value_dim, kernel } = linear;
  const [heads, values] = [term(msg`value heads`, value_heads), term(msg`value dim`, value_dim)];
  const matrix = joined("×", "B", [heads, term(msg`key dim`, key_dim), values, constant(4)]);
  const keys = joined("×", "", [constant(2), term(msg`key heads`, key_heads), term(msg`key dim`, key_dim)]);
  const mixed = joined("+", "", [derived(msg`q and k`, keys), derived(msg`v`, joined("×", "", [heads, values]))]);
  const newest = derived(
    msg`recent q, k and v`,
    joined("×", "", [derived(msg`q, k and v`, mixed), term(msg`kernel`, kernel)]),
  );
  const each = joined("+", "B", [
    derived(msg`matrix`, matrix),
    derived(msg`convolution state`, vectorBytes(newest, stored)),
  ]);
  return joined("×", "B", [term(msg`linear attention layers`, layers), derived(msg`state per layer`, each)]);
}

/** Adds the states of linear attention, for a model that has it. */
function withStates(caches, model, requests, stored) {
  if (!model.linear) return caches;
  const states = joined("×", "B", [
    term(msg`requests`, requests),
    derived(msg`state per request`, stateBytes(model, stored)),
  ]);
  return joined("+", "B", [derived(msg`K and V`, caches), derived(msg`states`, states)]);
}

/**
 * Computes what all layers store of one token: 2 × layers × KV heads × head dim × bytes. Layers with
 * a window store nothing of tokens outside it.
 *
 * @param {Model} model
 * @param {Stored} stored
 * @returns {Result} B per token
 */
export function cacheBytesPerToken(model, stored) {
  return joined("×", "B/token", [...pair(model), cachingLayers(model).all, ...vectorTerms(model, stored)]);
}

function pair({ mla }) {
  return mla ? [] : [constant(2)];
}

function vectorTerms({ kv_heads: kvHeads, head_dim: headDim, mla }, stored) {
  const numbers = mla
    ? derived(
        msg`latent dim`,
        joined("+", "", [term(msg`KV rank`, mla.kv_lora_rank), term(msg`rotary dim`, mla.qk_rope_head_dim)]),
      )
    : term(msg`head dim`, headDim);
  const vector = vectorBytes(numbers, stored);
  const factors = vector.op === "×" ? vector.terms : [derived(msg`bytes per vector`, vector)];
  return mla ? factors : [term(msg`KV heads`, kvHeads), ...factors];
}

/**
 * The cache of one request: bytes per token × context. Layers with a sliding window (arXiv:2310.06825) store
 * min(context, window) tokens: a query sees itself and the window − 1 before it.
 *
 * @param {Model} model
 * @param {number} context tokens
 * @param {Stored} stored
 * @returns {Result} B
 */
export function requestBytes(model, context, stored) {
  const tokens = term(msg`context`, context);
  if (!model.window) {
    const caches = joined("×", "B", [derived(msg`bytes per token`, cacheBytesPerToken(model, stored)), tokens]);
    return withStates(caches, model, 1, stored);
  }
  const inWindow = joined("min", "tokens", [tokens, term(msg`window`, model.window.tokens)]);
  return byKind(model, stored, () => tokens, derived(msg`stored tokens`, inWindow));
}

/**
 * The caches of requests that begin with the same tokens, which are stored once (arXiv:2309.06180):
 * bytes per token × (prefix + requests × (context − prefix)). With a window, only the tokens of the prefix and of each
 * request that the window still reaches.
 *
 * @param {Model} model
 * @param {{context: number, requests: number, prefix: number}} load tokens of each request, of which `prefix` are the same
 * @param {Stored} stored
 * @returns {Result} B
 */
export function batchBytes(model, { context, requests, prefix }, stored) {
  const own = joined("−", "tokens", [term(msg`context`, context), term(msg`prefix`, prefix)]);
  const storedTokens = (shared, each) =>
    derived(
      msg`stored tokens`,
      joined("+", "tokens", [
        shared,
        derived(msg`unshared tokens`, joined("×", "tokens", [term(msg`requests`, requests), each])),
      ]),
    );
  const full = storedTokens(term(msg`prefix`, prefix), derived(msg`unshared tokens per request`, own));
  if (!model.window) {
    const caches = joined("×", "B", [derived(msg`bytes per token`, cacheBytesPerToken(model, stored)), full]);
    return withStates(caches, model, requests, stored);
  }
  const window = term(msg`window`, model.window.tokens);
  const each = joined("min", "tokens", [derived(msg`context − prefix`, own), window]);
  const room = joined("−", "tokens", [window, derived(msg`stored unshared tokens`, each)]);
  const seen = joined("min", "tokens", [term(msg`prefix`, prefix), derived(msg`rest of the window`, room)]);
  return byKind(
    model,
    stored,
    () => full,
    storedTokens(derived(msg`prefix in the window`, seen), derived(msg`stored tokens per request`, each)),
  );
}

/**
 * Adds layers without and with a window, each by what it stores.
 *
 * @returns {Result} B
 */
function byKind(model, stored, full, windowed) {
  const layer = derived(msg`bytes per token and layer`, layerBytesPerToken(model, stored));
  const { all, windowed: count } = cachingLayers(model);
  return joined("+", "B", [
    derived(
      msg`layers without a window`,
      joined("×", "B", [term(msg`layers without a window`, all.value - count), full(), layer]),
    ),
    derived(msg`layers with a window`, joined("×", "B", [term(msg`layers with a window`, count), windowed, layer])),
  ]);
}

/**
 * All weights, whether a token uses them or not: parameters × bytes.
 *
 * @param {Model} model
 * @param {Stored} stored
 * @returns {Result} B
 */
export function weightBytes(model, stored) {
  const { total, experts } = parameters(model);
  return storedBytes(derived(msg`parameters`, total), experts, stored);
}

/**
 * @param {import("./arithmetic.js").Term} all parameters
 * @param {Result|null} experts the parameters of the experts, which can have another format
 * @param {Stored} stored
 * @returns {Result} B
 */
export function storedBytes(all, experts, stored) {
  if (!stored.experts || !experts) return vectorBytes(all, stored);
  const rest = joined("−", "", [all, derived(msg`experts`, experts)]);
  return joined("+", "B", [
    derived(msg`experts`, vectorBytes(derived(msg`experts`, experts), stored.experts)),
    derived(msg`all others`, vectorBytes(derived(msg`all others`, rest), stored)),
  ]);
}
