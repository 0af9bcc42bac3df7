/** Which keys the heads of one layer read, with their weights: the lines (threads) of the lens. Pure. */

import { kvHeadOf, topKeys } from "../../shared/facts/attention.js";
import { weightOf } from "../../shared/log/companding.js";

/** Below this cell width, in CSS pixels, only the strongest keys of each head have a line. */
const LEAST_CELL_PX = 3;
export const STRONGEST = 8;
/** Smaller weights have no line: the log's error is about as large. */
const LEAST_WEIGHT = 0.004;

/**
 * @param {Object} run
 * @param {{layer: number, query: number, firstQuery: number, pitch: number}} of `query`: the row that reads; `firstQuery`:
 *   first key of this step; `pitch`: width of a key's cell, in CSS pixels
 * @returns {{threads: {head: number, kvHead: number, key: number, weight: number, isNew: boolean}[], most: number|null}} by
 *   head, weakest first; `most`: largest number per head, null for all
 */
export function threadsOf(run, { layer, query, firstQuery, pitch }) {
  const most = pitch < LEAST_CELL_PX && query >= STRONGEST ? STRONGEST : null;
  const threads = [];
  for (let head = 0; head < run.heads; head++) {
    const weights = Array.from(run.row(layer, head, query), weightOf);
    const kvHead = kvHeadOf(run, head);
    for (const { key, weight } of topKeys(weights, most ?? weights.length).reverse())
      if (weight >= LEAST_WEIGHT) threads.push({ head, kvHead, key, weight, isNew: key >= firstQuery });
  }
  return { threads, most };
}
