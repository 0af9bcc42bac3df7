/** One layer on several devices (docs/frames.md, `shards`): who holds what, one number of a sum, what crosses. Pure. */

import { listed } from "../../../shared/facts/format.js";
import { lineOf } from "./scene.js";

/** Both halves end in a sum over the devices (arXiv:1909.08053, §3). */
const SUMS = 2;

/** The halves of a layer: as the answer names them, and in words. */
export const HALVES = [
  {
    half: "attn",
    name: "Attention’s change",
    by: "its own heads, their K and V, and the columns of W_O that they fill",
  },
  {
    half: "mlp",
    name: "The MLP’s change",
    by: "its own part of the numbers inside: rows of the first matrices, columns of W_down",
  },
];

/** @returns {number[]} how many devices a layer can be cut for: each has one K/V head at least */
export function deviceChoices(kvHeads) {
  return [2, 3, 4, 8].filter((devices) => devices <= kvHeads);
}

/**
 * @param {Object} answer of `client.ask("shards")`
 * @param {number} group query heads that read one K/V head
 * @returns {{kvHeads: number, kv: [number, number], heads: [number, number], columns: number, parameters: number,
 *   share: number}[]} by device; `kv` and `heads`: first and last; `share`: of all weights that the devices hold
 */
export function holdings({ kv_heads: kvHeads, columns, parameters }, group) {
  const all = parameters.data.reduce((sum, each) => sum + each, 0);
  return Array.from(parameters.data, (held, device) => {
    const [first, end] = lineOf(kvHeads, device);
    const [from, to] = lineOf(columns, device);
    return {
      kvHeads: end - first,
      kv: [first, end - 1],
      heads: [first * group, end * group - 1],
      columns: to - from,
      parameters: held,
      share: held / all,
    };
  });
}

/**
 * @param {Object} answer of `client.ask("shards")`
 * @param {string} half of HALVES
 * @returns {{parts: Float32Array[], bias: Float32Array|null, sum: Float32Array, change: Float32Array, difference: number}}
 *   `parts`: by device; `change`: the model's; `difference`: the largest between it and the sum
 */
export function joinedIn(answer, half) {
  const partials = answer[`${half}.partials`];
  const [sum, change] = [answer[`${half}.sum`].data, answer[`${half}.change`].data];
  return {
    parts: Array.from({ length: partials.shape[0] }, (_, device) => lineOf(partials, device)),
    bias: answer[`${half}.bias`]?.data ?? null,
    sum,
    change,
    difference: sum.reduce((most, value, at) => Math.max(most, Math.abs(value - change[at])), 0),
  };
}

/**
 * What crosses between devices, by formula. In a ring each device sends 2·(N − 1)/N of the vector per sum, and gets as much.
 *
 * @param {{d: number, element_bytes: number, layers: number}} model
 * @param {number} devices
 * @returns {{sum: number, layer: number, model: number, waits: number}} bytes that one device sends for one token: for one
 *   sum, a layer, the whole model; `waits`: how often all wait for each other
 */
export function crossing({ d, element_bytes: elementBytes, layers }, devices) {
  const sum = (2 * (devices - 1) * d * elementBytes) / devices;
  return { sum, layer: SUMS * sum, model: SUMS * sum * layers, waits: SUMS * layers };
}

/** @returns {string} how the devices' shares compare, in words */
export function sharing(held, kvHeads) {
  const counts = held.map((each) => each.kvHeads);
  if (counts.every((count) => count === counts[0])) return `Each has ${counts[0]} of the ${kvHeads} K/V heads.`;
  return (
    `A K/V head stays whole, together with the query heads that read it: ${kvHeads} of them give ${listed(counts.map(String))}. ` +
    "The devices do not have equally much to do, which programs that serve models mostly do not allow."
  );
}
