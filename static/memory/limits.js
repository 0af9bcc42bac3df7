/**
 * What the calculator takes, in one place. The bounds are far beyond any machine; they keep every count of bytes a whole number
 * below 2^53 (9 PB), so that plain numbers are exact and no BigInt is needed. What only their product would break is refused too.
 *
 * @typedef {{field: string, text: string}} Problem
 */

import { BITS, GROUPS } from "./dtypes.js";
import { batchBytes, weightBytes } from "./sizes.js";

/** The largest of each, from 1 unless `LEAST` says otherwise. */
export const LIMITS = {
  context: 100_000_000,
  requests: 1_000_000,
  prefix: 100_000_000,
  gpus: 100_000,
  memory: 1e15,
  bandwidth: 1e18,
  flops: 1e21,
};

const LEAST = { prefix: 0 };

const NAMES = {
  context: "The context",
  requests: "The number of requests",
  prefix: "The shared prefix",
  gpus: "The number of GPUs",
  memory: "The memory of a GPU",
  bandwidth: "The memory bandwidth",
  flops: "The peak",
};

/**
 * @param {Object} inputs
 * @param {number} inputs.context tokens of each request
 * @param {number} inputs.requests at once
 * @param {number} inputs.prefix tokens that all of them begin with
 * @param {import("./dtypes.js").Stored} inputs.cache
 * @param {import("./dtypes.js").Stored} inputs.weights
 * @param {{memory: number, bandwidth: number, flops: number}} inputs.gpu bytes, bytes per second, FLOP per second
 * @param {number} inputs.gpus
 * @param {import("./parameters.js").Model} model
 * @returns {Problem|null} the first thing that is wrong
 */
export function problemOf(inputs, model) {
  const { context, prefix, cache, weights } = inputs;
  const given = { ...inputs.gpu, ...inputs };
  for (const [field, most] of Object.entries(LIMITS)) {
    const text = faultOf(given[field], LEAST[field] ?? 1, most);
    if (text) return { field, text: `${NAMES[field]} ${text}.` };
  }
  if (prefix > context) {
    return { field: "prefix", text: `The shared prefix of ${prefix} tokens is longer than the context of ${context}.` };
  }
  for (const [field, stored] of Object.entries({ cache, weights })) {
    if (!Object.hasOwn(BITS, stored.dtype)) {
      return { field, text: `${String(stored.dtype).slice(0, 40)} is not one of ${Object.keys(BITS).join(", ")}.` };
    }
    if (!GROUPS.includes(stored.group ?? 0)) {
      return { field, text: `A scale is shared by one of ${GROUPS.join(", ")} numbers.` };
    }
  }
  const bytes = batchBytes(model, inputs, cache).value + weightBytes(model, weights).value;
  if (bytes > Number.MAX_SAFE_INTEGER) {
    return { field: "requests", text: "That is more than 9 PB of weights and cache, which is not counted here." };
  }
  return null;
}

/** @returns {string|null} what is wrong with a number */
export function faultOf(value, least, most) {
  if (typeof value !== "number" || !Number.isInteger(value)) return "is not a whole number";
  if (value < least) return `is ${value}; it must be at least ${least}`;
  if (value > most) return `is ${value}; at most ${most.toLocaleString("en-US")} can be counted with`;
  return null;
}
