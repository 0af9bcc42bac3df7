/** Whether decode is limited by reading memory, from the rate at which it reads. Pure. */

import { disturbance } from "../../../shared/facts/conditions.js";
import { percent, short } from "../../../shared/facts/format.js";
import { msg } from "../../../shared/words/msg.js";

/** Decode is called memory-bound from this share of the measured bandwidth on. */
const BOUND_SHARE = 0.5;

/**
 * @param {{bytesPerSecond: number, disturbed: boolean}} decode of `phaseFacts`
 * @param {{per_second: number, spread: [number, number], conditions: Object}} bandwidth as `/api/measure` has it
 * @returns {string}
 */
export function verdict(decode, bandwidth) {
  const [rate, least, most] = [bandwidth.per_second, ...bandwidth.spread].map((each) => short(each, "B/s"));
  const machine = msg`This machine reads memory at ${rate} (${least} to ${most}).`;
  if (decode.disturbed) return `${machine} ${msg`Every decode step was disturbed, so the two cannot be compared.`}`;
  const cause = disturbance(bandwidth);
  if (cause)
    return `${machine} ${msg`That measurement was disturbed, so it cannot be compared with decode: ${cause}.`}`;
  const ratio = decode.bytesPerSecond / bandwidth.per_second;
  const [reads, share] = [short(decode.bytesPerSecond, "B/s"), percent(ratio, 0)];
  if (ratio >= BOUND_SHARE) return `${machine} ${msg`Decode read ${reads}, ${share} of that: it is memory-bound.`}`;
  return `${machine} ${msg`Decode read ${reads}, ${share} of that. It spends most of its time on other work, so it is not memory-bound here.`}`;
}
