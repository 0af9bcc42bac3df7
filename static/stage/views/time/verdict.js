/** What the rate at which decode reads says of where its time goes. Pure. */

import { disturbance } from "../../../shared/facts/conditions.js";
import { percent, short } from "../../../shared/facts/format.js";

/** Decode is called memory-bound from this share of the measured bandwidth on. */
const BOUND_SHARE = 0.5;

/**
 * @param {{bytesPerSecond: number, disturbed: boolean}} decode of `phaseFacts`
 * @param {{per_second: number, spread: [number, number], conditions: Object}} bandwidth as `/api/measure` has it
 * @returns {string}
 */
export function verdict(decode, bandwidth) {
  const { per_second: most, spread } = bandwidth;
  const machine = `This machine reads ${short(most, "B/s")} (${short(spread[0], "B/s")} to ${short(spread[1], "B/s")})`;
  const disturbed = decode.disturbed ? "every decode step was disturbed" : disturbance(bandwidth);
  if (disturbed) return `${machine}. Nothing follows from that here: ${disturbed}.`;
  const share = decode.bytesPerSecond / most;
  const reads = `${machine}; decode read ${short(decode.bytesPerSecond, "B/s")}, ${percent(share, 0)} of it`;
  if (share >= BOUND_SHARE) return `${reads}: it is memory-bound.`;
  return `${reads}: most of its time does not go to reading memory, so it is not memory-bound here.`;
}
