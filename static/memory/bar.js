/** How the memory of the fullest GPU is used: weights, shared prefix, a cache for each request, free memory. Pure. */

import { cacheOnGpu, weightsOnGpu } from "./fits.js";
import { groupsOf, requestsOf } from "./layout.js";

/** More requests than this are drawn as one piece: single ones would be thinner than the line between them. */
export const MOST_PIECES = 64;

/**
 * @param {import("./parameters.js").Model} model
 * @param {import("./fits.js").Inputs} inputs
 * @returns {{memory: number, used: number, left: number, scale: number, weights: number, prefix: number, each: number,
 *   requests: number, pieces: number}} bytes; `left` is negative where it does not fit, `scale`: the bytes of the whole bar, `each`: the bytes of one
 *   request, `requests`: those on this GPU, `pieces`: the number of pieces for the requests
 */
export function barOf(model, inputs) {
  const { memory } = inputs.gpu;
  const weights = weightsOnGpu(model, inputs).value;
  const requests = requestsOf(inputs, inputs.requests);
  const cache = (each) => cacheOnGpu(model, { ...inputs, requests: each * groupsOf(inputs) }).value;
  const each = cache(2) - cache(1);
  const used = weights + cache(requests);
  const pieces = requests <= MOST_PIECES ? requests : 1;
  const scale = Math.max(memory, used);
  return { memory, used, left: memory - used, scale, weights, prefix: cache(1) - each, each, requests, pieces };
}
