/**
 * Walking a run one layer at a time. A step has a stop after each of its layers and then an end, where the next token
 * has been chosen. Pure.
 */

/**
 * @param {{step: number, layerStop: number|null}} from `layerStop`: layers shown, 1…layers; null at the step's end
 * @param {1|-1} change
 * @param {{steps: number, layers: number}} run complete steps, and layers of the model
 * @returns {{step: number, layerStop: number|null}} after the end of the newest step, that step starts again; there is no stop
 *   before the first layer of step 0
 */
export function walk({ step, layerStop }, change, { steps, layers }) {
  if (change > 0) {
    if (layerStop === null) return { step: Math.min(step + 1, steps - 1), layerStop: 1 };
    return { step, layerStop: layerStop < layers ? layerStop + 1 : null };
  }
  if (layerStop === null) return { step, layerStop: layers };
  if (layerStop > 1) return { step, layerStop: layerStop - 1 };
  return step > 0 ? { step: step - 1, layerStop: null } : { step, layerStop };
}
