/** Smaller forms in which the engine can store a cache, and what changes with each. Pure. */

import { quoted } from "../../../shared/facts/format.js";
import { form, msg, plural } from "../../../shared/words/msg.js";

/** By the engine's name of a dtype: its name on the page, and its size. */
export const DTYPES = {
  float32: { name: "float32", how: msg`unchanged` },
  bfloat16: { name: "bf16", how: msg`2 bytes per number` },
  int8: { name: "int8", how: msg`1 byte per number, and a 2-byte scale per vector` },
  int4: { name: "int4", how: msg`half a byte per number, and a 2-byte scale per vector` },
};

/**
 * Lists the smaller forms in which a model's cache can be stored.
 *
 * @param {{kv_heads: number, dtype: string}} model of an `open` frame
 * @returns {{dtype: string, kvHeads: number}[]} fewer bits with all heads, then fewer heads
 */
export function smallerForms({ kv_heads: kvHeads, dtype }) {
  const bits = ["bfloat16", "int8", "int4"].filter((each) => each !== dtype).map((each) => ({ dtype: each, kvHeads }));
  const fewer = Array.from({ length: kvHeads - 1 }, (_, at) => kvHeads - 1 - at).filter((each) => kvHeads % each === 0);
  return [...bits, ...fewer.map((each) => ({ dtype: "float32", kvHeads: each }))];
}

/** @returns {string} */
export function formName({ dtype, kvHeads }, all) {
  const { name } = DTYPES[dtype];
  return kvHeads === all ? name : msg`${name}, ${all} KV heads merged to ${kvHeads}`;
}

/**
 * Sums up what a smaller cache changes.
 *
 * @param {{kl: number[], likeliest: Object[][]}} loss
 * @returns {{mean: number, most: number, change: Change|null}} `mean`, `most`: of `kl` over the steps, in nats; `change`: the first
 *   step with another most likely token
 * @typedef {{step: number, before: Object, after: Object}} Change
 */
export function lossOf({ kl, likeliest }) {
  const step = likeliest.findIndex(([before, after]) => before.id !== after.id);
  const [before, after] = likeliest[step] ?? [];
  return { ...klFacts(kl), change: step < 0 ? null : { step, before, after } };
}

/** @returns {{mean: number, most: number}} of the KL of each step */
export function klFacts(kl) {
  return { mean: kl.reduce((sum, each) => sum + each, 0) / kl.length, most: Math.max(...kl) };
}

/** @param {Change|null} change @param {number} steps @returns {string} for a cell of a table */
export function changeText(change, steps) {
  if (!change) return plural(steps, form`the same in ${steps} step`, form`the same in ${steps} steps`);
  return msg`differs from step ${change.step}: ${quoted(change.after)} instead of ${quoted(change.before)}`;
}
