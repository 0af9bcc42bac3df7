/** One layer on several devices (docs/frames.md, `shards`): the part of each device, the sums, the traffic. Pure. */

import { msg } from "../../../shared/words/msg.js";
import { lineOf } from "./scene.js";

/** Both halves end in a sum over the devices (arXiv:1909.08053, §3). */
const SUMS = 2;

/** The halves of a layer; `half`: its name in the answer; `parts`: what a device holds of it. */
export const HALVES = [
  {
    half: "attn",
    name: msg`Attention’s change`,
    parts: msg`each device: its own heads, their K and V, and their columns of W_O`,
  },
  {
    half: "mlp",
    name: msg`The MLP’s change`,
    parts: msg`each device: its own part of the inner numbers, with their rows of the first matrices and columns of W_down`,
  },
];

/** @returns {number[]} possible counts of devices: each device has at least one KV head */
export function deviceChoices(kvHeads) {
  return [2, 3, 4, 8].filter((devices) => devices <= kvHeads);
}

/**
 * Returns which part of the layer each device holds.
 *
 * @param {Object} answer of `client.ask("shards")`
 * @param {number} group query heads that read one KV head
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
 * Returns the parts of a change, their sum and the model's own change.
 *
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
 * The traffic between devices, by formula. In a ring each device sends 2·(N − 1)/N of the vector per sum, and receives as much.
 *
 * @param {{d: number, element_bytes: number, layers: number}} model
 * @param {number} devices
 * @returns {{sum: number, layer: number, model: number, waits: number}} bytes that one device sends for one token: for one
 *   sum, a layer, the whole model; `waits`: how often all devices wait for each other
 */
export function crossing({ d, element_bytes: elementBytes, layers }, devices) {
  const sum = (2 * (devices - 1) * d * elementBytes) / devices;
  return { sum, layer: SUMS * sum, model: SUMS * sum * layers, waits: SUMS * layers };
}

/** @returns {string} how evenly the work is divided */
export function sharing(held, kvHeads) {
  const counts = held.map((each) => each.kvHeads);
  if (counts.every((count) => count === counts[0])) {
    const [count] = counts;
    return msg`Each has ${count} of the ${kvHeads} KV heads.`;
  }
  const split = counts.join(" + ");
  return msg`Here a KV head and the query heads that read it stay on one device, so ${kvHeads} KV heads are divided as ${split}. The devices have unequal work, which most serving programs do not allow: they store a KV head on several devices or refuse.`;
}
