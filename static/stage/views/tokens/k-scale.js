/** The values a slider for top-k stops at. Pure. */

/** Equal ratios from one to the next; among the small numbers every one is there. */
const STOPS = 220;

/**
 * @param {number} vocab
 * @returns {number[]} 1 … vocab, ascending, on a logarithmic scale; the last keeps every token, which is as if it were off
 */
export function kStops(vocab) {
  const stops = Array.from({ length: STOPS + 1 }, (_, i) => Math.round(vocab ** (i / STOPS)));
  return [...new Set(stops)];
}

/** @returns {number} the place of the stop nearest to `k` by ratio; 0 is off, and so is what keeps everything */
export function placeOfK(stops, k) {
  if (k === 0) return stops.length - 1;
  const far = (stop) => Math.abs(Math.log(stop / k));
  return stops.reduce((best, stop, i) => (far(stop) < far(stops[best]) ? i : best), 0);
}

/** @returns {number} top-k as a run takes it: 0 for what keeps all `vocab` tokens */
export function kAt(k, vocab) {
  return k >= vocab ? 0 : Math.max(1, Math.round(k));
}
