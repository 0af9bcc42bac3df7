/**
 * What fits into the memory of GPUs, weights included. Every number is that of the fullest GPU; layout.js says how a model is divided.
 * Other memory of a server (activations, code, unused parts of blocks) is not counted. The memory of gpus.json is the
 * vendor's figure, in units of 10^9 bytes; drivers report a little more. Pure.
 *
 * @typedef {import("../shared/sizes/arithmetic.js").Result} Result
 * @typedef {import("../shared/sizes/parameters.js").Model} Model
 *
 * @typedef {import("../shared/sizes/layout.js").Inputs} Inputs
 *
 * @typedef {"weights"|"memory"|"context"|"limit"} Stop the reason for the maximum: the weights alone do not fit, the memory is
 *   full, the longest context in the model's config, or the bound of this calculator
 *
 * @typedef {{value: number, unit: string, stop: Stop, room: Result, cache: Result|null}} Most `cache`: for `value`,
 *   null if it is 0
 */

import { derived, joined, term } from "../shared/sizes/arithmetic.js";
import { fewestGpus, heldBy, requestsOf } from "../shared/sizes/layout.js";
import { batchBytes, weightBytes } from "../shared/sizes/sizes.js";
import { msg } from "../shared/words/msg.js";
import { LIMITS } from "./limits.js";

/**
 * @param {Model} model
 * @param {Inputs} inputs
 * @returns {Result} B of the weights on one GPU
 */
export function weightsOnGpu(model, inputs) {
  return weightBytes(heldBy(model, inputs), inputs.weights);
}

/**
 * @param {Model} model
 * @param {Inputs} inputs
 * @returns {Result} B of the caches on one GPU, for the requests of its group
 */
export function cacheOnGpu(model, inputs) {
  return batchBytes(heldBy(model, inputs), { ...inputs, requests: requestsOf(inputs, inputs.requests) }, inputs.cache);
}

/**
 * The memory for the cache: memory − weights. Negative where the weights alone do not fit.
 *
 * @param {Model} model
 * @param {Inputs} inputs
 * @returns {Result} B of one GPU
 */
export function roomForCache(model, inputs) {
  return joined("−", "B", [term(msg`memory`, inputs.gpu.memory), derived(msg`weights`, weightsOnGpu(model, inputs))]);
}

/**
 * The memory in use: weights + cache of all requests.
 *
 * @param {Model} model
 * @param {Inputs} inputs
 * @returns {Result} B of one GPU
 */
export function usedBytes(model, inputs) {
  return joined("+", "B", [
    derived(msg`weights`, weightsOnGpu(model, inputs)),
    derived(msg`cache`, cacheOnGpu(model, inputs)),
  ]);
}

/**
 * @param {Model} model
 * @param {Inputs} inputs
 * @returns {boolean}
 */
export function fits(model, inputs) {
  return usedBytes(model, inputs).value <= inputs.gpu.memory;
}

/** @returns {number|null} the fewest GPUs of this kind on which it fits */
export function gpusNeeded(model, inputs) {
  return fewestGpus(model, inputs, (layout) => fits(model, { ...inputs, ...layout }), LIMITS.gpus);
}

/** @returns {number|null} the fewest GPUs of this kind that can hold the weights */
export function gpusForWeights(model, inputs) {
  const hold = (layout) => roomForCache(model, { ...inputs, ...layout }).value >= 0;
  return fewestGpus(model, inputs, hold, LIMITS.gpus);
}

/**
 * The longest context that so many requests can have: the largest for which the batch's cache ≤ the memory beside the weights.
 *
 * @param {Model} model
 * @param {Inputs} inputs its context is ignored
 * @returns {Most}
 */
export function mostTokens(model, inputs) {
  const longest = Math.min(model.context ?? LIMITS.context, LIMITS.context);
  const batch = (context) => cacheOnGpu(model, { ...inputs, context, prefix: Math.min(inputs.prefix, context) });
  return most("tokens", roomForCache(model, inputs), longest, batch, longest === model.context ? "context" : "limit");
}

/**
 * The most requests of this context at once: the largest number for which the batch's cache ≤ the memory beside the weights.
 *
 * @param {Model} model
 * @param {Inputs} inputs its requests are ignored
 * @returns {Most}
 */
export function mostRequests(model, inputs) {
  const batch = (requests) => cacheOnGpu(model, { ...inputs, requests });
  return most("requests", roomForCache(model, inputs), LIMITS.requests, batch, "limit");
}

/** The largest number whose bytes fit, by binary search: bytes never decrease with the number. */
function most(unit, room, highest, batch, atHighest) {
  if (room.value < 0) return { value: 0, unit, stop: "weights", room, cache: null };
  let [low, high] = [0, highest];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (batch(middle).value <= room.value) low = middle;
    else high = middle - 1;
  }
  const stop = low === highest ? atHighest : "memory";
  return { value: low, unit, stop, room, cache: low ? batch(low) : null };
}
