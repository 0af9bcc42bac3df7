/** Logits → temperature → top-k → top-p → choice, over the whole vocabulary, as kvscope/model/engine/sampling.py. */

import { msg } from "../../shared/words/msg.js";
import { descending } from "./descending.js";
import { uniform } from "./uniform.js";

/** The logits contain NaN or infinity, so no token can be chosen. */
export class NotFinite extends Error {
  constructor() {
    super(msg`the model's logits contain NaN or infinity`);
  }
}

/**
 * Chooses the next token of a run. Greedy takes the largest logit (the first of equals), without filters and without a random number.
 *
 * @param {{finite: boolean, best: number, largest: number, total: number, weighted: number}} summary of the logits (native/pass.js)
 * @param {Float32Array} logits [vocab]
 * @param {{strategy: "greedy"|"sample", temperature: number, top_k: number, top_p: number, seed: number}} sampling
 * @param {number} step
 * @returns {{token: number, prob: number, raw_prob: number, entropy: number, log_z: number, kept_top_k: number, kept_top_p: number,
 *   mass_top_k: number, mass_top_p: number}} as in a `step` frame (docs/frames.md)
 * @throws {NotFinite}
 */
export function choose(summary, logits, sampling, step) {
  if (!summary.finite) throw new NotFinite();
  const { best, total, weighted } = summary;
  const entropy = Math.max(0, Math.log(total) - weighted / total) / Math.LN2;
  const ofLogits = { entropy, log_z: logSumOf(summary) };
  if (sampling.strategy === "greedy") {
    const all = { kept_top_k: logits.length, kept_top_p: logits.length, mass_top_k: 1, mass_top_p: 1 };
    return { token: best, prob: 1 / total, raw_prob: 1 / total, ...ofLogits, ...all };
  }
  const order = descending(logits);
  const { probs, sums } = withTemperature(logits, order, sampling.temperature);
  const keptK = sampling.top_k ? Math.min(sampling.top_k, logits.length) : logits.length;
  const keptP = topP(sums.subarray(0, keptK), sampling.top_p);
  const mass = sums[keptP - 1];
  const index = pick(sums.subarray(0, keptP), uniform(sampling.seed, step));
  return {
    token: order[index],
    prob: probs[index] / mass,
    raw_prob: probabilityOf(summary, logits[order[index]]),
    ...ofLogits,
    ...{ kept_top_k: keptK, kept_top_p: keptP, mass_top_k: sums[keptK - 1], mass_top_p: mass },
  };
}

/** @returns {number} the logarithm of the sum of e^logit */
export const logSumOf = ({ largest, total }) => largest + Math.log(total);

/** @returns {number} the probability of a token with this logit, in softmax of the raw logits */
export function probabilityOf({ largest, total }, logit) {
  return Math.exp(logit - largest) / total;
}

/** Returns the probabilities of logits / temperature in the order `order`, which begins with the largest, and their cumulative sums. */
function withTemperature(logits, order, temperature) {
  const largest = logits[order[0]];
  const probs = new Float64Array(order.length);
  const sums = new Float64Array(order.length);
  let total = 0;
  for (let i = 0; i < probs.length; i++) total += probs[i] = Math.exp((logits[order[i]] - largest) / temperature);
  let sum = 0;
  for (let i = 0; i < probs.length; i++) sums[i] = sum += probs[i] /= total;
  return { probs, sums };
}

/** Returns how many tokens top-p keeps: the fewest whose sum reaches the share `p` of all. */
function topP(sums, p) {
  const all = sums.length;
  return p >= 1 ? all : sums.findIndex((sum) => sum >= p * sums[all - 1]) + 1;
}

/** Returns the index that `u` in [0, 1) draws: the first whose sum is above u times the sum of all. */
function pick(sums, u) {
  const bound = u * sums[sums.length - 1];
  return sums.findIndex((sum) => sum > bound);
}
