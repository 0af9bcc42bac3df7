/**
 * Bytes of a KV cache and of weights. All of them whole numbers below 2^53, which limits.js sees to. Pure.
 *
 * @typedef {import("./arithmetic.js").Result} Result
 * @typedef {import("./dtypes.js").Stored} Stored
 * @typedef {import("./parameters.js").Model} Model
 */

import { constant, joined, opened, term } from "./arithmetic.js";
import { vectorBytes } from "./dtypes.js";
import { parameters } from "./parameters.js";

/**
 * What one layer keeps of one token: 2 × KV heads × head dim × bytes (K and V, arXiv:1706.03762). Heads that share K and V
 * (GQA, arXiv:2305.13245) or all of them (MQA, arXiv:1911.02150) make fewer KV heads. MLA (arXiv:2405.04434) keeps one
 * vector, of which K and V are made again: (KV rank + rotary dim) × bytes, once and not twice.
 *
 * @param {Model} model
 * @param {Stored} stored
 * @returns {Result} B
 */
export function layerBytesPerToken(model, stored) {
  return joined("×", "B", [...pair(model), ...vectorTerms(model, stored)]);
}

/**
 * How many layers keep K and V of their own: all but those that attend linearly, and those that use the K and V of an
 * earlier layer.
 *
 * @param {Model} model
 * @returns {{all: import("./arithmetic.js").Term, windowed: number}} `windowed`: how many of them have a window
 */
function keeping({ layers, linear, kv_shared: reusing = 0, window }) {
  const first = layers - reusing;
  const windowed = window?.layers.filter((layer) => layer < first).length ?? 0;
  if (!linear && !reusing) return { all: term("layers", layers), windowed };
  const others = [
    ...(linear ? [term("linear layers", linear.layers)] : []),
    ...(reusing ? [term("sharing layers", reusing)] : []),
  ];
  return { all: opened("layers that keep K and V", joined("−", "", [term("layers", layers), ...others])), windowed };
}

/**
 * What layers that attend linearly keep of a whole request, however long: in each a matrix for every value head, in 32 bits
 * whatever the cache is stored as, and the newest q, K and V that the convolution reads.
 *
 * @param {Model} model
 * @param {Stored} stored
 * @returns {Result} B
 */
function stateBytes({ linear }, stored) {
  const { layers, key_heads, value_heads, key_dim, value_dim, kernel } = linear;
  const [heads, values] = [term("value heads", value_heads), term("value dim", value_dim)];
  const matrix = joined("×", "B", [heads, term("key dim", key_dim), values, constant(4)]);
  const keys = joined("×", "", [constant(2), term("key heads", key_heads), term("key dim", key_dim)]);
  const mixed = joined("+", "", [opened("q and K", keys), opened("V", joined("×", "", [heads, values]))]);
  const newest = opened("newest q, K and V", joined("×", "", [opened("q, K and V", mixed), term("kernel", kernel)]));
  const each = joined("+", "B", [
    opened("matrix", matrix),
    opened("read by the convolution", vectorBytes(newest, stored)),
  ]);
  return joined("×", "B", [term("linear layers", layers), opened("state of a layer", each)]);
}

/** With the states of so many requests, where there are any. */
function withStates(caches, model, requests, stored) {
  if (!model.linear) return caches;
  const states = joined("×", "B", [
    term("requests", requests),
    opened("state of a request", stateBytes(model, stored)),
  ]);
  return joined("+", "B", [opened("K and V", caches), opened("states", states)]);
}

/**
 * What all layers keep of one token: 2 × layers × KV heads × head dim × bytes. Of tokens beyond the window, layers that
 * have one keep nothing.
 *
 * @param {Model} model
 * @param {Stored} stored
 * @returns {Result} B per token
 */
export function cacheBytesPerToken(model, stored) {
  return joined("×", "B/token", [...pair(model), keeping(model).all, ...vectorTerms(model, stored)]);
}

function pair({ mla }) {
  return mla ? [] : [constant(2)];
}

function vectorTerms({ kv_heads: kvHeads, head_dim: headDim, mla }, stored) {
  const numbers = mla
    ? opened(
        "latent dim",
        joined("+", "", [term("KV rank", mla.kv_lora_rank), term("rotary dim", mla.qk_rope_head_dim)]),
      )
    : term("head dim", headDim);
  const vector = vectorBytes(numbers, stored);
  const factors = vector.op === "×" ? vector.terms : [opened("bytes of a vector", vector)];
  return mla ? factors : [term("KV heads", kvHeads), ...factors];
}

/**
 * The cache of one request: bytes per token × context. Layers with a sliding window (arXiv:2310.06825) keep
 * min(context, window) tokens: a query sees itself and the window − 1 before it.
 *
 * @param {Model} model
 * @param {number} context tokens
 * @param {Stored} stored
 * @returns {Result} B
 */
export function requestBytes(model, context, stored) {
  const tokens = term("context", context);
  if (!model.window) {
    const caches = joined("×", "B", [opened("bytes per token", cacheBytesPerToken(model, stored)), tokens]);
    return withStates(caches, model, 1, stored);
  }
  const kept = joined("min", "tokens", [tokens, term("window", model.window.tokens)]);
  return byKind(model, stored, () => tokens, opened("kept tokens", kept));
}

/**
 * The caches of requests that begin with the same tokens, which are stored once (arXiv:2309.06180):
 * bytes per token × (prefix + requests × (context − prefix)). With a window, of each request's own tokens and of the prefix
 * those that one of them can still see.
 *
 * @param {Model} model
 * @param {{context: number, requests: number, prefix: number}} load tokens of each request, of which `prefix` are the same
 * @param {Stored} stored
 * @returns {Result} B
 */
export function batchBytes(model, { context, requests, prefix }, stored) {
  const own = joined("−", "tokens", [term("context", context), term("prefix", prefix)]);
  const kept = (shared, each) =>
    opened(
      "tokens kept",
      joined("+", "tokens", [shared, opened("own tokens", joined("×", "tokens", [term("requests", requests), each]))]),
    );
  const full = kept(term("prefix", prefix), opened("tokens of each", own));
  if (!model.window) {
    const caches = joined("×", "B", [opened("bytes per token", cacheBytesPerToken(model, stored)), full]);
    return withStates(caches, model, requests, stored);
  }
  const window = term("window", model.window.tokens);
  const each = joined("min", "tokens", [opened("context − prefix", own), window]);
  const room = joined("−", "tokens", [window, opened("own kept tokens", each)]);
  const seen = joined("min", "tokens", [term("prefix", prefix), opened("what the window has left", room)]);
  return byKind(model, stored, () => full, kept(opened("prefix in the window", seen), opened("kept of each", each)));
}

/**
 * Layers without a window and those with one, by what each keeps.
 *
 * @returns {Result} B
 */
function byKind(model, stored, full, windowed) {
  const layer = opened("bytes of a layer's token", layerBytesPerToken(model, stored));
  const { all, windowed: count } = keeping(model);
  return joined("+", "B", [
    opened("full layers", joined("×", "B", [term("full layers", all.value - count), full(), layer])),
    opened("layers with a window", joined("×", "B", [term("layers with a window", count), windowed, layer])),
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
  return vectorBytes(opened("parameters", parameters(model).total), stored);
}
