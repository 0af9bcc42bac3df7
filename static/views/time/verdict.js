/** What two ratios say of where the time of decode goes. Pure. */

import { times } from "../../facts/format.js";

/** How much more than the arithmetic a token's time must grow from prefill to decode to show that decode waits. */
const WAITS = 1.5;

/**
 * @param {number} work how many times a token's arithmetic grew from prefill to decode
 * @param {number} time the same of its time
 * @returns {string} what that says of waiting for memory
 */
export function verdict(work, time) {
  if (time > WAITS * work)
    return "The extra time is not spent on arithmetic but on waiting for memory: decode is memory-bound.";
  if (Number(times(time).slice(0, -1)) > Number(times(work).slice(0, -1)))
    return "Time grew a little more than arithmetic, as waiting for memory makes it, but too little on this prompt to be sure.";
  return "Here a token's time grew no more than its arithmetic, so this run does not show decode waiting for memory.";
}
