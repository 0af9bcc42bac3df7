/** Which exact answers the values stored with a saved session allow. Pure. */

/** The answers about a layer that each level allows. */
const OF_A_LAYER = { qkv: ["head"], block: ["head", "block"] };

/**
 * @param {{values?: {level: string, layers: number[], lens: boolean}|null}|null} saved the saved session of a run
 * @param {string} answer
 * @param {number} [layer] that the answer is about
 * @returns {boolean} whether the stored values are enough for it
 */
export function isStored(saved, answer, layer) {
  if (!saved?.values) return false;
  const { level, layers, lens } = saved.values;
  return answer === "lens" ? lens : (OF_A_LAYER[level]?.includes(answer) ?? false) && layers.includes(layer);
}
