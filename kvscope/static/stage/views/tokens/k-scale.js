/** The values that a slider for top-k can have. Pure. */

/** Consecutive values have the same ratio; small whole numbers are all included. */
const STOPS = 220;

/**
 * Returns the values of a slider for top-k.
 *
 * @param {number} vocab
 * @returns {number[]} 1 … vocab, ascending, on a logarithmic scale; the last keeps every token, as if top-k were off
 */
export function kStops(vocab) {
  const stops = Array.from({ length: STOPS + 1 }, (_, i) => Math.round(vocab ** (i / STOPS)));
  return [...new Set(stops)];
}

/** @returns {number} the index of the stop nearest to `k` by ratio; for 0 (off) the last one */
export function indexOfK(stops, k) {
  if (k === 0) return stops.length - 1;
  const distance = (stop) => Math.abs(Math.log(stop / k));
  return stops.reduce((best, stop, i) => (distance(stop) < distance(stops[best]) ? i : best), 0);
}

/** @returns {number} top-k as a setting of a run: 0 (off) when it keeps all `vocab` tokens */
export function kAt(k, vocab) {
  return k >= vocab ? 0 : Math.max(1, Math.round(k));
}
