/** What the times of a run and its twin say, and what they do not, in words. Pure. */

import { times } from "../../../shared/facts/format.js";

/** Memory read counts as alike below this ratio, time as growing like arithmetic within this factor. */
const ALIKE = 1.2;
const APART = 1.5;

/**
 * @param {{cached: Object, twin: Object, times: Object}} compared as `compareTwin` gives it
 * @returns {string|null} what did not grow as arithmetic did; null where time did
 */
export function timeWords({ cached, twin, times: took }) {
  const [work, read] = ["flops", "read"].map((id) => twin[id] / cached[id]);
  const time = took.twin / took.cached;
  if (work > 2 * time && read < ALIKE)
    return (
      `${times(work)} the arithmetic took ${times(time)} the time. Either way a step reads all the weights once: ` +
      `${times(read)} the memory in all.`
    );
  return null;
}

/** @returns {boolean} whether time differs so much less than the rows that nobody would keep a cache for it */
export function showsLittle({ cached, twin, times: took }) {
  return took.twin / took.cached < twin.rows / cached.rows / APART;
}
