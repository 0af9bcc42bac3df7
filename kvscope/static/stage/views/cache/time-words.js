/** Compares the time of a run and of the same run without a cache with their arithmetic, in words. Pure. */

import { times } from "../../../shared/facts/format.js";
import { msg } from "../../../shared/words/msg.js";

/** Below this ratio, memory read counts as the same. */
const SAME_READ = 1.2;
/** Time shows little if the ratio of rows is at least this many times the ratio of times. */
const SHOWS_LITTLE = 1.5;

/**
 * Says why less arithmetic did not save as much time.
 *
 * @param {{steps: Object[], cached: Object, twin: Object, times: Object}} compared as `compareTwin` gives it
 * @returns {string|null} null unless arithmetic grew much more than time, and the memory read stayed the same
 */
export function timeWords({ steps, cached, twin, times: took }) {
  // A branch has times of its own steps only, but the arithmetic without a cache counts all steps.
  if (steps.some((each) => each.cached.ms === null)) return null;
  const [work, read] = ["flops", "read"].map((id) => twin[id] / cached[id]);
  const time = took.twin / took.cached;
  if (work > 2 * time && read < SAME_READ)
    return msg`Without the cache: ${times(work)} the arithmetic, ${times(time)} the time, ${times(read)} the memory read. With and without it, a step reads all weights once.`;
  return null;
}

/** @returns {boolean} whether time differs much less than the number of rows */
export function showsLittle({ cached, twin, times: took }) {
  return took.twin / took.cached < twin.rows / cached.rows / SHOWS_LITTLE;
}
