/**
 * Bytes of weights, as stored in the file, held in memory and read by a pass (docs/frames.md, Bytes of weights), each with its
 * format. All passes of a model read the weights in the formats in which they are held. Pure.
 */

import { msg } from "../words/msg.js";
import { shortDtype } from "./dtypes.js";
import { bytesShort, listed } from "./format.js";

/** @typedef {Record<string, number>} ByFormat bytes, by "float32", "4-bit groups" and so on */

/** A format with a smaller share is not named, such as float32 of norms and biases, which every file has. */
const SMALL_SHARE = 0.01;
const BIT_GROUPS = "-bit groups";

/** @returns {number} all formats together */
export function totalOf(byFormat) {
  return Object.values(byFormat).reduce((sum, bytes) => sum + bytes, 0);
}

/** @returns {string} "4- and 8-bit groups", "float32" */
export function formatOf(byFormat) {
  const total = totalOf(byFormat);
  const names = Object.keys(byFormat)
    .filter((name) => byFormat[name] >= SMALL_SHARE * total)
    .sort();
  const groups = names.filter((name) => name.endsWith(BIT_GROUPS));
  const plain = names.filter((name) => !name.endsWith(BIT_GROUPS));
  const bits = groups.map((name, at) => name.replace(BIT_GROUPS, at < groups.length - 1 ? "-" : BIT_GROUPS));
  return listed([...plain, ...(bits.length ? [listed(bits)] : [])]);
}

/** @returns {string} "96.4 MB in 4- and 8-bit groups" */
export function bytesIn(byFormat) {
  const [size, format] = [bytesShort(totalOf(byFormat)), formatOf(byFormat)];
  return msg`${size} in ${format}`;
}

/**
 * @param {Object} model of an `open` frame
 * @returns {{stored: string|null, held: string}} of all its weights; `stored` is null for a model without a file
 */
export function weightsOf(model) {
  const { stored, held } = model.weights;
  return { stored: totalOf(stored) ? bytesIn(stored) : null, held: bytesIn(held) };
}

/**
 * @param {Object} model of an `open` frame
 * @returns {string} the format of most bytes of its weights in memory: "4-bit", "fp32"
 */
export function mainFormat({ weights: { held } }) {
  const [largest] = Object.keys(held).sort((one, other) => held[other] - held[one]);
  return largest.endsWith(BIT_GROUPS) ? largest.replace(BIT_GROUPS, "-bit") : shortDtype(largest);
}

/** @returns {string|null} "4- and 8-bit groups" if memory holds matrices in groups alone; then `weight_dtype` gives no sizes */
export function groupsOf({ weights: { held }, weight_bytes: plain }) {
  const alone = Object.keys(held).some((name) => name.endsWith(BIT_GROUPS)) && totalOf(held) < plain;
  return alone ? formatOf(held) : null;
}

/** @returns {string} "float32", or "float32 with weights in bfloat16" if the weights have another format */
export function keptAs(model) {
  const own = groupsOf(model) ?? model.weight_dtype;
  const { dtype } = model;
  return own === dtype ? own : msg`${dtype} with weights in ${own}`;
}

/** @returns {string|null} the format that steps of one run read the weights in; null if there are no steps, or it is not known */
export function formatReadBy(steps) {
  const read = steps[0]?.data.weights_read;
  return read ? formatOf(read) : null;
}
