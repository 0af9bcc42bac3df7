/**
 * Estimates times from a GPU's bandwidth and peak. Nothing here is measured. A step that writes one token of each
 * request reads all the weights and caches once, so memory bandwidth bounds it; prefill multiplies every weight by every token of
 * the prompt, so the peak bounds it. The roofline (Williams, Waterman and Patterson, CACM 52(4), 2009) tells which of the two
 * applies. Every number is that of the fullest GPU; layout.js says how a model is divided. Pure.
 *
 * @typedef {import("./arithmetic.js").Result} Result
 * @typedef {import("./parameters.js").Model} Model
 * @typedef {import("./layout.js").Inputs} Inputs
 */

import { msg } from "../words/msg.js";
import { constant, derived, estimated, joined, stated, term } from "./arithmetic.js";
import { groupsOf, heldBy, requestsOf, workOf } from "./layout.js";
import { parameters } from "./parameters.js";
import { peakOfAttention, peakOfWeights } from "./peaks.js";
import { requestBytes, storedBytes } from "./sizes.js";

const EVEN_EXPERTS = msg`Each token chooses its experts independently, all with equal probability.`;
const NOTHING_ELSE = msg`Communication between GPUs, kernel launches and sampling take no time.`;
const EVEN_GROUPS = msg`Every group of GPUs has as much to do as the one with the most requests.`;
const WHOLE_CACHE = msg`Every request reads its whole cache, including a shared prefix.`;
const ALL_WEIGHTS = msg`Every token is multiplied by every active parameter, including the embedding table and the LM head.`;

/**
 * Counts the parameters that a step reads: all except the embedding table, of which it reads single rows unless it is the LM
 * head too. Of the experts, it reads those that some request chooses: experts × (1 − (1 − chosen ÷ experts)^requests).
 *
 * @param {Model} model
 * @param {number} requests
 * @returns {{all: Result, experts: Result|null}} `experts`: those of the experts
 */
export function parametersRead(model, requests) {
  const { total, tables, experts } = parameters(model);
  const all = derived(msg`parameters`, total);
  if (!experts) return { all: joined("−", "", [all, ...tables]), experts };
  const unread = (1 - model.moe.chosen / model.moe.experts) ** requests;
  const terms = [
    term(msg`active experts per token`, model.moe.chosen),
    term(msg`experts`, model.moe.experts),
    term(msg`requests`, requests),
  ];
  const [chosen, among, count] = terms.map(({ name }) => name);
  const share = stated(unread, "", `(1 − ${chosen} ÷ ${among})^${count}`, terms);
  const idle = derived(
    msg`idle experts`,
    joined("×", "", [derived(msg`experts`, experts), derived(msg`idle share`, share)]),
  );
  return {
    all: joined("−", "", [all, ...tables, idle]),
    experts: joined("−", "", [derived(msg`experts`, experts), idle]),
  };
}

/** @returns {Result} B of the weights that one GPU reads for `tokens` tokens of all groups together */
function weightsRead(model, tokens, inputs) {
  const { all, experts } = parametersRead(heldBy(model, inputs), tokens);
  return storedBytes(derived(msg`parameters read`, all), experts, inputs.weights);
}

/**
 * Bytes that one GPU reads in a step of decode: weights read + requests of its group × the cache of one.
 *
 * @param {Model} model
 * @param {Inputs} inputs
 * @returns {Result} B
 */
export function stepBytes(model, inputs) {
  const { requests, context, cache } = inputs;
  const each = derived(msg`cache per request`, requestBytes(asRead(heldBy(model, inputs)), context, cache));
  const own = term(msg`requests`, requestsOf(inputs, requests));
  return joined("+", "B", [
    derived(
      model.tied ? msg`weights read` : msg`weights read, without the embedding table`,
      weightsRead(model, requests, inputs),
    ),
    derived(msg`caches`, joined("×", "B", [own, each])),
  ]);
}

/** A layer that reuses the K and V of another one reads them too. */
function asRead(model) {
  return model.kv_shared ? { ...model, kv_shared: 0 } : model;
}

/**
 * Operations of one GPU in a step of decode, two for a multiplication and its addition:
 * requests of its group × (2 × active parameters + those of attention over the stored tokens).
 *
 * @param {Model} model
 * @param {Inputs} inputs
 * @returns {Result} FLOP
 */
export function stepFlops(model, inputs) {
  const { requests, context } = inputs;
  const work = workOf(model, inputs);
  const pairs = ({ tokens }) => joined("min", "", [term(msg`context`, context), term(msg`window`, tokens)]);
  const cost = pairFlops(work, true);
  return joined("×", "FLOP", [
    term(msg`requests`, requestsOf(inputs, requests)),
    derived(msg`per request`, withAttention(work, constant(1), term(msg`context`, context), pairs, cost)),
  ]);
}

/**
 * Counts the operations of prefill: 2 × active parameters × prompt + those of attention. Pairs of a query and a visible key
 * are prompt × (prompt + 1) ÷ 2, or with a window of w tokens, w × prompt − w × (w − 1) ÷ 2.
 *
 * @param {Model} model
 * @param {number} prompt tokens
 * @returns {Result} FLOP
 */
export function prefillFlops(model, prompt) {
  const tokens = term(msg`prompt`, prompt);
  const all = stated((prompt * (prompt + 1)) / 2, "", `${tokens.name} × (${tokens.name} + 1) ÷ 2`, [tokens]);
  const pairs = ({ tokens: window, chunked }) => {
    const w = Math.min(window, prompt);
    if (chunked) return chunkPairs(w, prompt, tokens);
    return stated(w * prompt - (w * (w - 1)) / 2, "", `w × ${tokens.name} − w × (w − 1) ÷ 2`, [term("w", w), tokens]);
  };
  return withAttention(model, tokens, derived(msg`pairs`, all), pairs, pairFlops(model, false));
}

/** Counts pairs if each query sees its own chunk, up to itself. */
function chunkPairs(w, prompt, tokens) {
  const rest = prompt % w;
  const value = (Math.floor(prompt / w) * w * (w + 1)) / 2 + (rest * (rest + 1)) / 2;
  const partial = term(msg`rest`, rest);
  const formula = `⌊${tokens.name} ÷ w⌋ × w × (w + 1) ÷ 2 + ${partial.name} × (${partial.name} + 1) ÷ 2`;
  return stated(value, "", formula, [term("w", w), tokens, partial]);
}

/** 2 × active parameters × tokens, which is the first term, + layers × pairs × FLOP per pair, for each kind of layer. */
function withAttention(model, tokens, full, windowed, perPair) {
  const weights = joined("×", "FLOP", [constant(2), derived(msg`active parameters`, parameters(model).active), tokens]);
  const cost = derived(msg`FLOP per pair`, perPair);
  const count = model.window?.layers.length ?? 0;
  const layers = (name, number, pairs) => derived(name, joined("×", "FLOP", [term(msg`layers`, number), pairs, cost]));
  return joined("+", "FLOP", [
    derived(msg`weights`, weights),
    layers(msg`attention`, model.layers - count - (model.linear?.layers ?? 0), full),
    ...(count ? [layers(msg`attention with a window`, count, derived(msg`pairs`, windowed(model.window)))] : []),
    ...(model.linear ? [derived(msg`linear attention`, stateFlops(model.linear, tokens))] : []),
  ]);
}

/** A number of the state is read for a key, changed, and read for a query, with two operations each. */
function stateFlops({ layers, value_heads: heads, key_dim: key, value_dim: value }, tokens) {
  const sizes = [term(msg`value heads`, heads), term(msg`key dim`, key), term(msg`value dim`, value)];
  return joined("×", "FLOP", [constant(6), term(msg`linear attention layers`, layers), ...sizes, tokens]);
}

/**
 * A query and a key: their product, and the value times the weight. Two operations for each number, in every head. MLA multiplies
 * K and V themselves in a prefill. A decode step would have to compute them of all stored tokens, so it multiplies the stored
 * vectors (arXiv:2405.04434, the absorbed form): each is the key and, without its rotary part, the value of every head. The
 * products with the query and the output that replace this are as many as those of the up-projection of one token, which the
 * weights count.
 */
function pairFlops({ heads, head_dim: headDim, mla }, absorbed) {
  const latent = mla && absorbed;
  const dims = mla
    ? [
        latent
          ? term(msg`latent dim`, mla.kv_lora_rank + mla.qk_rope_head_dim)
          : term(msg`q dim`, mla.qk_nope_head_dim + mla.qk_rope_head_dim),
        latent ? term(msg`KV rank`, mla.kv_lora_rank) : term(msg`value dim`, mla.v_head_dim),
      ]
    : [term(msg`head dim`, headDim), term(msg`head dim`, headDim)];
  return joined("×", "FLOP", [constant(2), term(msg`heads`, heads), derived(msg`dims`, joined("+", "", dims))]);
}

/**
 * Computes the shortest time for some operations: those with weights ÷ the peak for their format + those of attention ÷ the peak
 * for the format of the cache.
 *
 * @param {Result} flops of `withAttention`, times `requests`
 * @param {Inputs} inputs
 * @param {number} [requests]
 * @returns {Result} s
 */
function computeTime(flops, { gpu, weights, cache }, requests = 1) {
  const [products, attention] = [peakOfWeights(gpu, weights), peakOfAttention(gpu, cache)];
  if (products.flops === attention.flops || flops.terms.length === 1) {
    const all =
      requests === 1 ? flops : joined("×", "FLOP", [term(msg`requests`, requests), derived(msg`FLOP`, flops)]);
    return joined("÷", "s", [derived(msg`FLOP`, all), term(msg`peak`, products.flops)]);
  }
  const [withWeights, ...pairs] = flops.terms;
  const of = (name, terms, peak) => {
    const sum = joined("+", "FLOP", terms);
    const all = joined("×", "FLOP", [term(msg`requests`, requests), derived(msg`FLOP`, sum)]);
    return derived(name, joined("÷", "s", [derived(msg`FLOP`, all), term(msg`peak`, peak.flops)]));
  };
  return joined("+", "s", [of(msg`weights`, [withWeights], products), of(msg`attention`, pairs, attention)]);
}

/**
 * The shortest time in which the operations of one step of decode can be computed.
 *
 * @param {Model} model
 * @param {Inputs} inputs
 * @returns {Result} s
 */
export function stepComputeTime(model, inputs) {
  const [requests, each] = stepFlops(model, inputs).terms;
  return computeTime(each.of, inputs, requests.value);
}

/** @returns {string[]} what is assumed of several GPUs */
function evenGroups(inputs) {
  return groupsOf(inputs) > 1 ? [EVEN_GROUPS] : [];
}

/**
 * Time of one step of decode, in which every request gets one token: bytes that a GPU reads ÷ its bandwidth.
 *
 * @param {Model} model
 * @param {Inputs} inputs
 * @returns {Result} s, estimated
 */
export function timePerToken(model, inputs) {
  const bytes = derived(msg`bytes read`, stepBytes(model, inputs));
  return estimated(joined("÷", "s", [bytes, term(msg`bandwidth`, inputs.gpu.bandwidth)]), [
    WHOLE_CACHE,
    ...(model.moe ? [EVEN_EXPERTS] : []),
    ...evenGroups(inputs),
    NOTHING_ELSE,
  ]);
}

/**
 * Computes the time to the first token of one prompt in each group of GPUs. A shared prefix saves nothing here.
 *
 * @param {Model} model
 * @param {number} prompt tokens
 * @param {Inputs} inputs
 * @returns {Result} s, estimated
 */
export function timeToFirstToken(model, prompt, inputs) {
  const time = computeTime(prefillFlops(workOf(model, inputs), prompt), inputs);
  return estimated(time, [ALL_WEIGHTS, ...evenGroups(inputs), NOTHING_ELSE]);
}

/**
 * Operations for each byte read, in one step of decode.
 *
 * @param {Model} model
 * @param {Inputs} inputs
 * @returns {Result} FLOP/B
 */
export function stepIntensity(model, inputs) {
  return joined("÷", "FLOP/B", [
    derived(msg`FLOP per step`, stepFlops(model, inputs)),
    derived(msg`bytes read`, stepBytes(model, inputs)),
  ]);
}

/**
 * Operations for each byte read, in the prefill of one prompt: weights are read once (of experts, those that some token chooses)
 * and the prompt's cache once.
 *
 * @param {Model} model
 * @param {number} prompt tokens
 * @param {Inputs} inputs
 * @returns {Result} FLOP/B
 */
export function prefillIntensity(model, prompt, inputs) {
  const bytes = joined("+", "B", [
    derived(msg`weights`, weightsRead(model, prompt * groupsOf(inputs), inputs)),
    derived(msg`cache`, requestBytes(asRead(heldBy(model, inputs)), prompt, inputs.cache)),
  ]);
  return joined("÷", "FLOP/B", [
    derived(msg`FLOP of prefill`, prefillFlops(workOf(model, inputs), prompt)),
    derived(msg`bytes read`, bytes),
  ]);
}

/**
 * The roofline: min(peak, bandwidth × intensity). Below the ridge, peak ÷ bandwidth, memory bounds it.
 *
 * @param {number} intensity FLOP/B
 * @param {{bandwidth: number, flops: number}} gpu
 * @returns {Result} FLOP/s of one GPU
 */
export function attainable(intensity, { bandwidth, flops }) {
  const slope = joined("×", "FLOP/s", [term(msg`bandwidth`, bandwidth), term(msg`intensity`, intensity)]);
  return joined("min", "FLOP/s", [term(msg`peak`, flops), derived(msg`bandwidth × intensity`, slope)]);
}
