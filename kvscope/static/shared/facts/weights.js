/**
 * Bytes of weights, as stored in the file, held in memory and read by a pass (docs/frames.md, Bytes of weights), each with its
 * format. All passes of a model read the same format; in older logs, decode steps may read groups and prefill float32, and these are
 * not compared. Pure.
 */

import { msg } from "../words/msg.js";
import { shortDtype } from "./dtypes.js";
import { bytesShort, listed } from "./format.js";

/** @typedef {Record<string, number>} ByFormat bytes, by "float32", "4-bit groups" and so on */

/** A format with a smaller share is not named, such as float32 of norms and biases, which every file has. */
const SMALL_SHARE = 0.01;
/** The format of a log without formats whose pass read less than half of the weight bytes: only groups are so small. */
const GROUPS = "groups";
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
 * @returns {{stored: string|null, held: string}} of all its weights; older logs do not record what the file stores. Some
 *   hold the weights twice, in float32 and in groups
 */
export function weightsOf(model) {
  const { stored, held } = model.weights ?? {};
  return {
    stored: stored && totalOf(stored) ? bytesIn(stored) : null,
    held: bytesIn(held ?? { [model.weight_dtype]: model.weight_bytes }),
  };
}

/**
 * @param {Object} model of an `open` frame
 * @returns {string} the format of most bytes of its weights in memory: "4-bit", "fp32"; of an older log, which has only dtypes,
 *   "fp32 · bf16 weights" if weights have a dtype of their own
 */
export function mainFormat({ weights, dtype, weight_dtype: own }) {
  const { stored, held = stored } = weights ?? {};
  if (held) {
    const [largest] = Object.keys(held).sort((one, other) => held[other] - held[one]);
    return largest.endsWith(BIT_GROUPS) ? largest.replace(BIT_GROUPS, "-bit") : shortDtype(largest);
  }
  return own === dtype ? shortDtype(dtype) : `${shortDtype(dtype)} · ${msg`${shortDtype(own)} weights`}`;
}

/** @returns {string|null} "4- and 8-bit groups" if memory holds matrices in groups alone; then `weight_dtype` gives no sizes */
export function groupsOf({ weights, weight_bytes: plain }) {
  const held = weights?.held ?? {};
  const alone = Object.keys(held).some((name) => name.endsWith(BIT_GROUPS)) && totalOf(held) < plain;
  return alone ? formatOf(held) : null;
}

/** @returns {string} "float32", or "float32 with weights in bfloat16" if the weights have another format */
export function keptAs(model) {
  const own = groupsOf(model) ?? model.weight_dtype;
  const { dtype } = model;
  return own === dtype ? own : msg`${dtype} with weights in ${own}`;
}

/**
 * @param {{weights_read?: ByFormat, bytes_read: number, ms: {chunks: number[]}}} data of a step
 * @param {Object} model of its run
 * @returns {string} the format that its passes read the weights in
 */
export function readAs(data, model) {
  if (data.weights_read) return formatOf(data.weights_read);
  return data.bytes_read / data.ms.chunks.length < model.weight_bytes / 2 ? GROUPS : model.weight_dtype;
}

/** @returns {string} the format of `readIn`, with its bytes if the log has them */
export function readIn(data, model) {
  return data.weights_read ? bytesIn(data.weights_read) : readAs(data, model);
}

/** @returns {string|null} the one format that all of these steps read the weights in; null if there are several */
export function oneFormat(steps, model) {
  const formats = new Set(steps.map(({ data }) => readAs(data, model)));
  return formats.size === 1 ? [...formats][0] : null;
}

/** @returns {boolean} whether the steps of two runs, compared one by one, read the weights in the same format */
export function readAlike(one, other, model) {
  return one.every(({ data }, at) => other[at] === undefined || readAs(data, model) === readAs(other[at].data, model));
}
