/**
 * Bytes of weights, as stored in the file, held in memory and read by a pass (docs/frames.md, Bytes of weights), each with its
 * format. Weights that were read in two formats are not compared. Pure.
 */

import { msg } from "../words/msg.js";
import { bytesShort, listed } from "./format.js";

/** @typedef {Record<string, number>} ByFormat bytes, by "float32", "4-bit groups" and so on */

/** A format with a smaller share is not named: norms and biases, which are float32 in every file. */
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
 * @returns {{stored: string|null, held: string}} of all its weights; older logs record neither what the file stores nor groups
 *   held in addition
 */
export function weightsOf(model) {
  const { stored, held } = model.weights ?? {};
  return {
    stored: stored && totalOf(stored) ? bytesIn(stored) : null,
    held: held ? heldIn(held) : bytesIn({ [model.weight_dtype]: model.weight_bytes }),
  };
}

/** Memory may hold the same weights twice, in float32 and in groups, so both are named instead of their sum. */
function heldIn(held) {
  const groups = Object.entries(held).filter(([name]) => name.endsWith(BIT_GROUPS));
  const plain = Object.entries(held).filter(([name]) => !name.endsWith(BIT_GROUPS));
  const parts = [plain, groups].filter((part) => part.length).map((part) => bytesIn(Object.fromEntries(part)));
  return listed(parts);
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

/** @returns {string} the same with its bytes, if the log has them */
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
