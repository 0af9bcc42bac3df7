/** How the memory of the fullest GPU is used: weights, shared prefix, a cache for each request, free memory. Pure. */

import { groupsOf, requestsOf } from "../shared/sizes/layout.js";
import { cacheOnGpu, weightsOnGpu } from "./fits.js";

/** The most requests that get a piece each; more would be thinner than the lines between them. */
export const MOST_PIECES = 64;
/** A piece below this share of the bar would be thinner than the line too. */
export const LEAST_SHARE = 0.004;

/**
 * @param {import("../shared/sizes/parameters.js").Model} model
 * @param {import("./fits.js").Inputs} inputs
 * @returns {{memory: number, used: number, left: number, scale: number, weights: number, prefix: number, each: number,
 *   requests: number, pieces: number}} bytes; `left` is negative where it does not fit, `scale`: the bytes of the whole bar,
 * `each`: the bytes of one
 *   request, `requests`: those on this GPU, `pieces`: the number of pieces for the requests
 */
export function barOf(model, inputs) {
  const { memory } = inputs.gpu;
  const weights = weightsOnGpu(model, inputs).value;
  const requests = requestsOf(inputs, inputs.requests);
  const cache = (count) => cacheOnGpu(model, { ...inputs, requests: count * groupsOf(inputs) }).value;
  const each = cache(2) - cache(1);
  const used = weights + cache(requests);
  const scale = Math.max(memory, used);
  const pieces = requests <= MOST_PIECES && each / scale >= LEAST_SHARE ? requests : 1;
  return { memory, used, left: memory - used, scale, weights, prefix: cache(1) - each, each, requests, pieces };
}
