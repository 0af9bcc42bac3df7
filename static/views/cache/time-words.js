/** What the times of a run and its twin say, and what they do not, in words. Pure. */

import { times } from "../../facts/format.js";

/** Memory read counts as alike below this ratio, time as growing like arithmetic within this factor. */
const ALIKE = 1.2;
const APART = 1.5;

/**
 * @param {{cached: Object, twin: Object}} compared as `compareTwin` gives it
 * @returns {string|null} what did not grow as arithmetic did; null where time did
 */
export function timeWords({ cached, twin }) {
  const [work, time, read] = ["flops", "ms", "read"].map((id) => twin[id] / cached[id]);
  if (work > 2 * time && read < ALIKE)
    return (
      `${times(work)} the arithmetic took ${times(time)} the time. Either way a step reads all the weights once: ` +
      `${times(read)} the memory in all.`
    );
  return null;
}

/** @returns {boolean} whether time differs so much less than the rows that nobody would keep a cache for it */
export function showsLittle({ cached, twin }) {
  return twin.ms / cached.ms < twin.rows / cached.rows / APART;
}
