/** Who looks where in a run, and how firmly: one cell of attention, one row of it, and the sentence about a row. Pure. */

import { weightOf } from "../log/companding.js";
import { counted, listed, percent, quoted } from "./format.js";

/** @returns {number} the K/V head a query head reads (grouped-query attention: heads in equal consecutive groups) */
export function kvHeadOf(run, head) {
  return Math.floor(head / (run.heads / run.kvHeads));
}

/** @returns {[number, number]} first and last query head that read a K/V head */
export function readersOf(run, kvHead) {
  const size = run.heads / run.kvHeads;
  return [kvHead * size, (kvHead + 1) * size - 1];
}

/** @returns {{query: number, key: number, weight: number|null}} the strongest cell of a rectangle; null: all masked */
export function strongestCell(run, layer, head, queries, keys) {
  let best = { query: queries[1], key: keys[0], weight: null };
  for (let query = queries[0]; query <= queries[1]; query++) {
    for (let key = keys[0]; key <= Math.min(keys[1], query); key++) {
      const weight = run.weight(layer, head, query, key);
      if (weight !== null && (best.weight === null || weight > best.weight)) best = { query, key, weight };
    }
  }
  return best;
}

/**
 * @param {{status: string, values: Object|null, row: number}} [exact] as `useHeadValues` gives it for this query
 * @returns {{weights: Float32Array, exact: boolean}|null} the weight of each key of a query row: the model's own numbers, else
 *   those of the log, within 0.004; null where the log has no such row
 */
export function rowWeights(run, layer, head, query, exact = null) {
  if (exact?.status === "ready") {
    const { shape, data } = exact.values.weights;
    const start = exact.row * shape.at(-1);
    return { weights: data.subarray(start, start + query + 1), exact: true };
  }
  const row = run.row(layer, head, query);
  return row && { weights: Float32Array.from(row, weightOf), exact: false };
}

/**
 * @param {ArrayLike<number>} weights of each key, or what rises with them
 * @returns {{key: number, weight: number}[]} the keys with the largest, strongest first
 */
export function topKeys(weights, count) {
  const best = [];
  for (let key = 0; key < weights.length; key++) {
    if (best.length === count && weights[key] <= weights[best[count - 1]]) continue;
    const after = best.findIndex((other) => weights[other] < weights[key]);
    best.splice(after < 0 ? best.length : after, 0, key);
    if (best.length > count) best.pop();
  }
  return best.map((key) => ({ key, weight: weights[key] }));
}

/** @returns {string} one measured sentence about a query row; `row` as `rowWeights` gives it */
export function headSentence(run, layer, head, query, row = rowWeights(run, layer, head, query)) {
  if (!row) return `Head ${head} of layer ${layer}`;
  const looker = quoted(run.tokens[query]);
  if (query === 0) return `Head ${head} of layer ${layer}: ${looker} is the first token and can look only at itself`;
  const [best] = topKeys(row.weights, 1);
  const target = best.key === query ? "itself" : quoted(run.tokens[best.key]);
  return `Head ${head} of layer ${layer}: ${looker} looks most at ${target} (${percent(best.weight, 0)})`;
}

/** What a sentence about a row names: the strongest key, and those after it that come near. */
const NAMED = 3;
const NAMED_FROM = 0.15;
const NEAR = 0.4;

/**
 * @param {{weights: Float32Array}|null} row as `rowWeights` gives it
 * @returns {string} a row in words: “to” looks back at “away” and “far”
 */
export function lookSentence(run, query, row) {
  const looker = quoted(run.tokens[query]);
  if (!row) return looker;
  if (query === 0) return `${looker} comes first and can look only at itself`;
  const [best, ...others] = topKeys(row.weights, NAMED);
  const name = ({ key }) => (key === query ? "itself" : quoted(run.tokens[key]));
  if (best.weight < NAMED_FROM) return `${looker} looks a little at many, most at ${name(best)}`;
  const near = others.filter(({ weight }) => weight >= Math.max(NAMED_FROM, NEAR * best.weight));
  const named = [best, ...near];
  const back = named.every(({ key }) => key < query) ? "looks back at" : "looks at";
  return `${looker} ${back} ${listed(named.map(name))}`;
}

/** @returns {string} where that key stands, in words */
export function whereKeyStands(query, key) {
  if (key === query) return "its own position";
  if (key === 0) return "the first token";
  return query - key === 1 ? "the token just before" : `${counted(query - key, "token")} back`;
}
