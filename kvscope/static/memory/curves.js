/** The numbers of the calculator's charts. Pure. */

import { workOf } from "../shared/sizes/layout.js";
import { requestBytes } from "../shared/sizes/sizes.js";
import {
  attainable,
  prefillFlops,
  prefillIntensity,
  stepComputeTime,
  stepFlops,
  stepIntensity,
  timeToFirstToken,
} from "../shared/sizes/speed.js";

const POINTS = 60;
/** FLOP/B: below any decode step to above any prompt. */
const INTENSITIES = [0.1, 100_000];

/** @returns {number[]} different whole numbers from 1 to `most`, evenly spaced on a logarithmic scale */
export function lengthsUpTo(most) {
  const all = Array.from({ length: POINTS }, (_, at) => Math.round(most ** (at / (POINTS - 1))));
  return [...new Set(all)];
}

/** @returns {{x: number, y: number}[]} bytes of one request's cache, from 1 token to `most` tokens */
export function cacheCurve(model, stored, most) {
  return lengthsUpTo(most).map((tokens) => ({ x: tokens, y: requestBytes(model, tokens, stored).value }));
}

/** @returns {{x: number, y: number}[]} FLOP of attention alone, in prefills of 1 to `most` tokens */
export function attentionCurve(model, most) {
  return lengthsUpTo(most).map((tokens) => ({ x: tokens, y: attentionFlops(model, tokens) }));
}

/** @returns {number} FLOP of attention over a prompt, without the projections, whose FLOP grow linearly with its length */
export function attentionFlops(model, tokens) {
  const [_weights, ...attention] = prefillFlops(model, tokens).terms;
  return attention.reduce((sum, { value }) => sum + value, 0);
}

/** @returns {number} FLOP of a pair of a query and a key in every head of every layer, without a window */
export function pairCost(model) {
  return attentionFlops({ ...model, window: null }, 1);
}

/**
 * @param {{bandwidth: number, flops: number}} machine in B/s and FLOP/s
 * @returns {{x: number, y: number}[]} the roofline, in FLOP/s by FLOP/B: bandwidth bounds it up to the ridge, then the peak
 */
export function roof(machine) {
  const intensities = [INTENSITIES[0], machine.flops / machine.bandwidth, INTENSITIES[1]].sort((a, b) => a - b);
  return intensities.map((intensity) => ({ x: intensity, y: attainable(intensity, machine).value }));
}

/**
 * @typedef {{name: string, intensity: number, perSecond: number, seconds: number, bound: "bandwidth"|"peak"}} Expected of one
 *   GPU; `seconds`: the shortest possible time, by whichever of the two bounds it
 *
 * @param {import("../shared/sizes/parameters.js").Model} model
 * @param {import("./fits.js").Inputs} inputs
 * @returns {[Expected, Expected]} a decode step and a prefill at their best
 */
export function expected(model, inputs) {
  /** @returns {Expected} */
  const at = (name, flops, intensity, compute) => {
    const reading = flops / intensity / inputs.gpu.bandwidth;
    const seconds = Math.max(reading, compute);
    return { name, intensity, perSecond: flops / seconds, seconds, bound: reading > compute ? "bandwidth" : "peak" };
  };
  const { context } = inputs;
  const prefill = prefillFlops(workOf(model, inputs), context).value;
  return [
    at(
      "decode",
      stepFlops(model, inputs).value,
      stepIntensity(model, inputs).value,
      stepComputeTime(model, inputs).value,
    ),
    at(
      "prefill",
      prefill,
      prefillIntensity(model, context, inputs).value,
      timeToFirstToken(model, context, inputs).value,
    ),
  ];
}
