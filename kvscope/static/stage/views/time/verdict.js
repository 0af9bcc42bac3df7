/** How near decode comes to the memory bandwidth that was measured on this machine. Pure. */

import { disturbance } from "../../../shared/facts/conditions.js";
import { bytesShort, percent, short } from "../../../shared/facts/format.js";
import { formatOf } from "../../../shared/facts/weights.js";
import { msg } from "../../../shared/words/msg.js";

/** From this share of the measured bandwidth on, reading memory explains most of decode's time. */
const NEAR_SHARE = 0.7;

/**
 * Compares the bytes that decode reads per second with the memory bandwidth.
 *
 * @param {{bytesPerSecond: number, disturbed: boolean}} decode of `phaseFacts`
 * @param {{bandwidth: Object, weights?: Object}} measured as `/api/measure` has it
 * @returns {string}
 */
export function verdict(decode, { bandwidth, weights }) {
  const [rate, least, most] = [bandwidth.per_second, ...bandwidth.spread].map((each) => short(each, "B/s"));
  const machine = msg`This machine reads memory at ${rate} (${least} to ${most}).`;
  if (decode.disturbed) return `${machine} ${msg`Every decode step was disturbed, so the two cannot be compared.`}`;
  const cause = disturbance(bandwidth);
  if (cause)
    return `${machine} ${msg`That measurement was disturbed, so it cannot be compared with decode: ${cause}.`}`;
  return [machine, comparison(decode.bytesPerSecond, bandwidth.per_second), productsText(weights)]
    .filter(Boolean)
    .join(" ");
}

function comparison(perSecond, roof) {
  const ratio = perSecond / roof;
  const [reads, share] = [short(perSecond, "B/s"), percent(ratio, 0)];
  if (ratio > 1)
    return msg`Decode read ${reads}, ${share} of that: more than memory gave in the measurement. A part came from a cache of the processor, or another machine computed this run.`;
  if (ratio >= NEAR_SHARE)
    return msg`Decode read ${reads}, ${share} of that. That is near the limit: reading memory explains most of its time.`;
  return msg`Decode read ${reads}, ${share} of that. That is far from the limit: reading memory explains a part of its time only.`;
}

/** The same kind of read: the weights in their own format, without the rest of a step. */
function productsText(weights) {
  if (!weights || disturbance(weights)) return "";
  const [bytes, rate] = [bytesShort(weights.bytes), short(weights.per_second, "B/s")];
  const format = formatOf(weights.formats);
  return msg`The products with the weights alone (${bytes} in ${format}) read ${rate}.`;
}
