/**
 * Shows the layers of a step one after another. Progress 0 → 1 is the step's measured time, and each layer takes its measured share
 * of it. Pure.
 *
 * Two assumptions are not measured: the layers start with the step (the embedding before them is one look-up), and in a log without
 * times of layers, all layers take the same time, together three quarters of the step.
 */

const EVEN_SWEEP = 0.75;

/** @returns {number[]|null} measured ms of each layer; null if the log has none */
function timesOf(ms, layers) {
  const times = ms?.layers;
  return times?.length === layers && times.some((time) => time > 0) ? times : null;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

/**
 * @param {{total: number, layers?: number[]|null}} ms measured times of the step
 * @param {number} layers
 * @returns {number} the share of the step's time after which all layers are shown, above 0 and at most 1
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
  let remaining = share * sum(times);
  let layer = 0;
  while (layer < layers && remaining >= times[layer]) remaining -= times[layer++];
  return layer < layers ? layer + remaining / times[layer] : layers;
}

/** @returns {number} the progress at which this many whole layers are shown: the inverse of `revealAt` */
export function progressAt(shown, layers, ms) {
  const share = sweepShare(ms, layers);
  const times = timesOf(ms, layers);
  return times ? (share * sum(times.slice(0, shown))) / sum(times) : (share * shown) / layers;
}
