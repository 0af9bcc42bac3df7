/**
 * Estimates of time from the two numbers of a GPU that bound it: nothing here is measured. A step that writes one token of each
 * request reads all the weights and caches once, so memory bandwidth bounds it; prefill multiplies every weight by every token of
 * the prompt, so the peak bounds it. The roofline (Williams, Waterman and Patterson, CACM 52(4), 2009) says which of the two
 * holds. Pure.
 *
 * @typedef {import("./arithmetic.js").Result} Result
 * @typedef {import("./parameters.js").Model} Model
 * @typedef {import("./fits.js").Inputs} Inputs
 */

import { constant, estimated, joined, opened, stated, term } from "./arithmetic.js";
import { vectorBytes } from "./dtypes.js";
import { parameters } from "./parameters.js";
import { requestBytes } from "./sizes.js";

const EVEN_EXPERTS = "Every token chooses its experts evenly and on its own.";
const ALONE = "Nothing else takes time: no communication between GPUs, no launch of kernels, no sampling.";
const EACH_READS = "Every request reads its whole cache, a shared prefix too.";
const ALL_WEIGHTS =
  "Every active parameter is multiplied by every token, those of the embedding table and the LM head too.";

/**
 * Parameters that a step reads: all but the embedding table, of which it reads single rows, unless that is the LM head too.
 * Of experts those that some request chooses: experts × (1 − (1 − chosen ÷ experts)^requests).
 *
 * @param {Model} model
 * @param {number} requests
 * @returns {Result}
 */
export function parametersRead(model, requests) {
  const { total, tables, experts } = parameters(model);
  const all = opened("parameters", total);
  if (!experts) return joined("−", "", [all, ...tables]);
  const unread = (1 - model.moe.chosen / model.moe.experts) ** requests;
  const share = stated(unread, "", "(1 − chosen ÷ experts)^requests", [
    term("chosen", model.moe.chosen),
    term("experts", model.moe.experts),
    term("requests", requests),
  ]);
  const idle = joined("×", "", [opened("experts", experts), opened("share that none chooses", share)]);
  return joined("−", "", [all, ...tables, opened("idle experts", idle)]);
}

/**
 * Bytes that one step of decode reads: weights read + requests × the cache of one.
 *
 * @param {Model} model
 * @param {Inputs} inputs
 * @returns {Result} B
 */
export function stepBytes(model, { requests, context, weights, cache }) {
  const read = vectorBytes(opened("parameters read", parametersRead(model, requests)), weights);
  const each = opened("cache of a request", requestBytes(asRead(model), context, cache));
  return joined("+", "B", [
    opened(model.tied ? "weights read" : "weights read, without the embedding table", read),
    opened("caches", joined("×", "B", [term("requests", requests), each])),
  ]);
}

/** Every layer reads K and V, also those of another layer. */
function asRead(model) {
  return model.kv_shared ? { ...model, kv_shared: 0 } : model;
}

/**
 * Operations of one step of decode, two for a multiplication and its addition:
 * requests × (2 × active parameters + those of attention over the kept tokens).
 *
 * @param {Model} model
 * @param {Inputs} inputs
 * @returns {Result} FLOP
 */
export function stepFlops(model, { requests, context }) {
  const pairs = ({ tokens }) => joined("min", "", [term("context", context), term("window", tokens)]);
  return joined("×", "FLOP", [
    term("requests", requests),
    opened("for each", withAttention(model, constant(1), term("context", context), pairs)),
  ]);
}

/**
 * Operations of prefill: 2 × active parameters × prompt + those of attention, whose pairs of a query and a key that it sees are
 * prompt × (prompt + 1) ÷ 2, or with a window of w tokens, w × prompt − w × (w − 1) ÷ 2.
 *
 * @param {Model} model
 * @param {number} prompt tokens
 * @returns {Result} FLOP
 */
export function prefillFlops(model, prompt) {
  const tokens = term("prompt", prompt);
  const all = stated((prompt * (prompt + 1)) / 2, "", "prompt × (prompt + 1) ÷ 2", [tokens]);
  const pairs = ({ tokens: window, chunked }) => {
    const w = Math.min(window, prompt);
    if (chunked) return chunkPairs(w, prompt, tokens);
    return stated(w * prompt - (w * (w - 1)) / 2, "", "w × prompt − w × (w − 1) ÷ 2", [term("w", w), tokens]);
  };
  return withAttention(model, tokens, opened("pairs", all), pairs);
}

/** Each query sees its own chunk, up to itself. */
function chunkPairs(w, prompt, tokens) {
  const rest = prompt % w;
  const value = (Math.floor(prompt / w) * w * (w + 1)) / 2 + (rest * (rest + 1)) / 2;
  const formula = "⌊prompt ÷ w⌋ × w × (w + 1) ÷ 2 + rest × (rest + 1) ÷ 2";
  return stated(value, "", formula, [term("w", w), tokens, term("rest", rest)]);
}

/** 2 × active parameters × tokens + layers × pairs × what one pair costs, by the kind of layer. */
function withAttention(model, tokens, full, windowed) {
  const weights = joined("×", "FLOP", [constant(2), opened("active parameters", parameters(model).active), tokens]);
  const cost = opened("FLOP of a pair", pairFlops(model));
  const count = model.window?.layers.length ?? 0;
  const layers = (name, number, pairs) => opened(name, joined("×", "FLOP", [term("layers", number), pairs, cost]));
  return joined("+", "FLOP", [
    opened("weights", weights),
    layers("attention", model.layers - count - (model.linear?.layers ?? 0), full),
    ...(count ? [layers("attention in the window", count, opened("pairs", windowed(model.window)))] : []),
    ...(model.linear ? [opened("linear attention", stateFlops(model.linear, tokens))] : []),
  ]);
}

/** Of each number of a state: read for a key, changed, read for a query. Two operations for each. */
function stateFlops({ layers, value_heads: heads, key_dim: key, value_dim: value }, tokens) {
  const sizes = [term("value heads", heads), term("key dim", key), term("value dim", value)];
  return joined("×", "FLOP", [constant(6), term("linear layers", layers), ...sizes, tokens]);
}

/** A query and a key: their product, and the value times the weight. Two operations for each number, in every head. */
function pairFlops({ heads, head_dim: headDim, mla }) {
  const dims = mla
    ? [term("q dim", mla.qk_nope_head_dim + mla.qk_rope_head_dim), term("value dim", mla.v_head_dim)]
    : [term("head dim", headDim), term("head dim", headDim)];
  return joined("×", "FLOP", [constant(2), term("heads", heads), opened("dims", joined("+", "", dims))]);
}

/**
 * Time of one step of decode, in which every request gets one token: bytes read ÷ (GPUs × bandwidth).
 *
 * @param {Model} model
 * @param {Inputs} inputs
 * @returns {Result} s, estimated
 */
export function timePerToken(model, inputs) {
  const bandwidth = joined("×", "B/s", [term("GPUs", inputs.gpus), term("bandwidth", inputs.gpu.bandwidth)]);
  const bytes = opened("bytes read", stepBytes(model, inputs));
  return estimated(joined("÷", "s", [bytes, opened("bandwidth of all", bandwidth)]), [
    EACH_READS,
    ...(model.moe ? [EVEN_EXPERTS] : []),
    ALONE,
  ]);
}

/**
 * Time to the first token of one prompt: operations of prefill ÷ (GPUs × peak). Nothing of it is taken from a shared prefix.
 *
 * @param {Model} model
 * @param {number} prompt tokens
 * @param {Inputs} inputs
 * @returns {Result} s, estimated
 */
export function timeToFirstToken(model, prompt, inputs) {
  const peak = joined("×", "FLOP/s", [term("GPUs", inputs.gpus), term("peak", inputs.gpu.flops)]);
  const flops = opened("FLOP of prefill", prefillFlops(model, prompt));
  return estimated(joined("÷", "s", [flops, opened("peak of all", peak)]), [ALL_WEIGHTS, ALONE]);
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
    opened("FLOP of a step", stepFlops(model, inputs)),
    opened("bytes read", stepBytes(model, inputs)),
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
export function prefillIntensity(model, prompt, { weights, cache }) {
  const read = vectorBytes(opened("parameters read", parametersRead(model, prompt)), weights);
  const bytes = joined("+", "B", [
    opened("weights", read),
    opened("cache", requestBytes(asRead(model), prompt, cache)),
  ]);
  return joined("÷", "FLOP/B", [opened("FLOP of prefill", prefillFlops(model, prompt)), opened("bytes read", bytes)]);
}

/**
 * The roofline: min(peak, bandwidth × intensity). Below the ridge, peak ÷ bandwidth, memory bounds it.
 *
 * @param {number} intensity FLOP/B
 * @param {{bandwidth: number, flops: number}} gpu
 * @returns {Result} FLOP/s of one GPU
 */
export function attainable(intensity, { bandwidth, flops }) {
  const slope = joined("×", "FLOP/s", [term("bandwidth", bandwidth), term("intensity", intensity)]);
  return joined("min", "FLOP/s", [term("peak", flops), opened("bandwidth × intensity", slope)]);
}
