/** Which keys the heads of one layer read, and how much of each: the threads of the lens. Pure. */

import { kvHeadOf, topKeys } from "../../shared/facts/attention.js";
import { weightOf } from "../../shared/log/companding.js";

/** Narrower cells than this have no thread each, in CSS pixels: then only the strongest of each head have. */
const LEAST_CELL_PX = 3;
export const STRONGEST = 8;
/** A weight below it has no thread. It is as exact as the log is. */
const LEAST_WEIGHT = 0.004;

/**
 * @param {Object} run
 * @param {{layer: number, query: number, firstQuery: number, pitch: number}} of `query`: the row that reads; `firstQuery`:
 *   keys from there on are of this step; `pitch`: width of a key's cell, in CSS pixels
 * @returns {{threads: {head: number, kvHead: number, key: number, weight: number, isNew: boolean}[], most: number|null}} of
 *   each head the weakest first; `most`: only so many of each head, or all of them
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
