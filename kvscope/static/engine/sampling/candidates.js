/** The next-token distribution in a frame: the best logits exactly, the rest as a histogram (kvscope/model/engine/candidates.py). */

/**
 * @param {{ids: Int32Array, top: Float32Array, counts: Int32Array, smallest: number}} summary as a pass that captures leaves it
 *   (native/pass.js)
 * @param {number} vocab
 * @returns {{ids: Int32Array, logits: Float32Array, counts: Int32Array, low: number, high: number}} the best tokens with their raw logits,
 *   best first; how many of the others are in each of the equal bins from `low` to `high`
 */
export function shownOf({ ids, top, counts, smallest }, vocab) {
  return { ids, logits: top, counts, low: smallest, high: ids.length < vocab ? top[top.length - 1] : 0 };
}
