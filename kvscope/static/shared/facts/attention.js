/** Attention of a run: its cells, its rows, and sentences about a row. Pure. */

import { weightOf } from "../log/companding.js";
import { form, msg, plural } from "../words/msg.js";
import { integer, listed, percent, quoted } from "./format.js";

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
 * @param {{status: string, values: Object|null, row: number}} [exact] the result of `useHeadValues` for this query
 * @returns {{weights: Float32Array, exact: boolean}|null} the weight of each key of a query row: exact values, else those
 *   of the log, within 0.004; null if the log has no such row
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

/** @returns {number} how many keys a query of a layer reads: all up to its own, or the newest of a sliding window */
export function keysRead(run, layer, query) {
  return query + 1 - run.firstKey(layer, query);
}

/**
 * @param {ArrayLike<number>} weights of each key, or values in the same order
 * @returns {{key: number, weight: number}[]} the keys with the largest weights, largest first
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

/** @returns {string} a sentence about the strongest weight of a query row; `row`: of `rowWeights` */
export function headSentence(run, layer, head, query, row = rowWeights(run, layer, head, query)) {
  if (!row) return msg`Head ${head} of layer ${layer}`;
  const token = quoted(run.tokens[query]);
  if (query === 0) return msg`Head ${head} of layer ${layer}: ${token} is the first token and can look only at itself`;
  const [best] = topKeys(row.weights, 1);
  const weight = percent(best.weight, 0);
  if (best.key === query) return msg`Head ${head} of layer ${layer}: ${token} looks most at itself (${weight})`;
  const target = quoted(run.tokens[best.key]);
  return msg`Head ${head} of layer ${layer}: ${token} looks most at ${target} (${weight})`;
}

/** A sentence about a row names at most this many keys: the strongest, and others with at least the share `NEAR` of its weight. */
const NAMED = 3;
const NAMED_FROM = 0.15;
const NEAR = 0.4;

/**
 * @param {{weights: Float32Array}|null} row of `rowWeights`
 * @returns {string} a sentence: “to” looks at “away” and “far”
 */
export function lookSentence(run, query, row) {
  const token = quoted(run.tokens[query]);
  if (!row) return token;
  if (query === 0) return msg`${token} is the first token and can look only at itself`;
  const [best, ...others] = topKeys(row.weights, NAMED);
  const name = ({ key }) => (key === query ? msg`itself` : quoted(run.tokens[key]));
  const target = name(best);
  if (best.weight < NAMED_FROM) return msg`${token} looks a little at many tokens, and most at ${target}`;
  const near = others.filter(({ weight }) => weight >= Math.max(NAMED_FROM, NEAR * best.weight));
  const targets = listed([best, ...near].map(name));
  return msg`${token} looks at ${targets}`;
}

/** @returns {string} the position of a key relative to its query */
export function whereKeyStands(query, key) {
  if (key === query) return msg`its own position`;
  if (key === 0) return msg`the first token`;
  const distance = integer(query - key);
  if (query - key === 1) return msg`the previous token`;
  return plural(query - key, form`${distance} token back`, form`${distance} tokens back`);
}
