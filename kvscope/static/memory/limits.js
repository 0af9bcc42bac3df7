/**
 * The bounds of every input. They are far beyond any machine, and keep every count of bytes below 2^53 (9 PB), so that plain
 * numbers are exact. Inputs that exceed this bound only together are refused too: each alone may be valid.
 *
 * @typedef {{field: string, text: string}} Problem
 */

import { integer } from "../shared/facts/format.js";
import { BITS, GROUPS } from "../shared/sizes/dtypes.js";
import { batchBytes, weightBytes } from "../shared/sizes/sizes.js";
import { msg } from "../shared/words/msg.js";

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

const LABELS = {
  context: msg`Tokens each`,
  requests: msg`Requests at once`,
  prefix: msg`Shared prefix, tokens`,
  gpus: msg`Number of GPUs`,
  memory: msg`Memory of a GPU`,
  bandwidth: msg`Memory bandwidth`,
  flops: msg`Peak`,
};

/**
 * @param {Object} inputs
 * @param {number} inputs.context tokens of each request
 * @param {number} inputs.requests at once
 * @param {number} inputs.prefix tokens that all of them begin with
 * @param {import("../shared/sizes/dtypes.js").Stored} inputs.cache
 * @param {import("../shared/sizes/dtypes.js").Stored} inputs.weights
 * @param {{memory: number, bandwidth: number, flops: number}} inputs.gpu bytes, bytes per second, FLOP per second
 * @param {number} inputs.gpus
 * @param {import("../shared/sizes/parameters.js").Model} model
 * @returns {Problem|null} the first input that is wrong
 */
export function problemOf(inputs, model) {
  const { context, prefix, cache, weights } = inputs;
  const given = { ...inputs.gpu, ...inputs };
  for (const [field, most] of Object.entries(LIMITS)) {
    const text = faultOf(LABELS[field], given[field], LEAST[field] ?? 1, most);
    if (text) return { field, text };
  }
  if (prefix > context) {
    return {
      field: "prefix",
      text: msg`The shared prefix (${integer(prefix)}) is longer than the context (${integer(context)}).`,
    };
  }
  for (const [field, stored] of Object.entries({ cache, weights })) {
    if (!Object.hasOwn(BITS, stored.dtype)) {
      const [given, allowed] = [String(stored.dtype).slice(0, 40), Object.keys(BITS).join(", ")];
      return { field, text: msg`${given} is not one of ${allowed}.` };
    }
    if (!GROUPS.includes(stored.group ?? 0)) {
      const allowed = GROUPS.join(", ");
      return { field, text: msg`The numbers per scale must be one of ${allowed}.` };
    }
  }
  const bytes = batchBytes(model, inputs, cache).value + weightBytes(model, weights).value;
  if (bytes > Number.MAX_SAFE_INTEGER) {
    return { field: "requests", text: msg`Weights and cache take more than 9 PB, the limit of this calculator.` };
  }
  return null;
}

/** @returns {string|null} a sentence on what is wrong with the number that `label` names; `given`: how it writes the value */
export function faultOf(label, value, least, most, given = value) {
  if (!Number.isInteger(value)) return msg`${label}: ${given} is not a whole number.`;
  if (value < least) return msg`${label}: ${given} is too small; it must be at least ${least}.`;
  if (value > most) return msg`${label}: ${given} is too large; it must be at most ${integer(most)}.`;
  return null;
}
