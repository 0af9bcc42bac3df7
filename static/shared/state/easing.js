/**
 * How a step's layers come up one after another while it is shown, its sweep: progress 0 → 1 is the step's measured time,
 * and each layer takes the share of it that the layer was measured to take. Pure.
 *
 * Two things are not measured and assumed: the layers start when the step starts (the embedding before them is one
 * look-up), and where a log has no times of layers, they are even and take three quarters of the step.
 */

const EVEN_SWEEP = 0.75;

/** @returns {number[]|null} measured ms of each layer, null when the log has none */
function timesOf(ms, layers) {
  const times = ms?.layers;
  return times?.length === layers && times.some((time) => time > 0) ? times : null;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

/**
 * @param {{total: number, layers?: number[]|null}} ms measured times of the step
 * @param {number} layers
 * @returns {number} the share of the step's time by whose end all layers are there, above 0 and at most 1
 */
export function sweepShare(ms, layers) {
  const times = timesOf(ms, layers);
  return times ? Math.min(1, sum(times) / ms.total) : EVEN_SWEEP;
}

/** @returns {number} layers shown at a progress: 0…layers, as a float */
export function revealAt(progress, layers, ms) {
  const share = Math.min(1, progress / sweepShare(ms, layers));
  const times = timesOf(ms, layers);
  if (!times || share === 1) return layers * share;
  let left = share * sum(times);
  let layer = 0;
  while (layer < layers && left >= times[layer]) left -= times[layer++];
  return layer < layers ? layer + left / times[layer] : layers;
}

/** @returns {number} the progress at which this many whole layers are there: the inverse of `revealAt` */
export function progressAt(shown, layers, ms) {
  const share = sweepShare(ms, layers);
  const times = timesOf(ms, layers);
  return times ? (share * sum(times.slice(0, shown))) / sum(times) : (share * shown) / layers;
}
