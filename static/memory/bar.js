/** How the memory of the GPUs is used: weights, shared prefix, a cache for each request, free memory. Pure. */

import { memoryBytes } from "./fits.js";
import { batchBytes, weightBytes } from "./sizes.js";

/** More requests than this are drawn as one piece: single ones would be thinner than the line between them. */
export const MOST_PIECES = 64;

/**
 * @param {import("./parameters.js").Model} model
 * @param {import("./fits.js").Inputs} inputs
 * @returns {{memory: number, used: number, left: number, scale: number, weights: number, prefix: number, each: number,
 *   pieces: number}} bytes; `left` is negative where it does not fit, `scale`: the bytes of the whole bar, `each`: the bytes of one
 *   request, `pieces`: the number of pieces for the requests
 */
export function barOf(model, inputs) {
  const memory = memoryBytes(inputs).value;
  const weights = weightBytes(model, inputs.weights).value;
  const cache = (requests) => batchBytes(model, { ...inputs, requests }, inputs.cache).value;
  const each = cache(2) - cache(1);
  const used = weights + cache(inputs.requests);
  const pieces = inputs.requests <= MOST_PIECES ? inputs.requests : 1;
  const scale = Math.max(memory, used);
  return { memory, used, left: memory - used, scale, weights, prefix: cache(1) - each, each, pieces };
}
