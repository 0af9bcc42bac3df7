/**
 * Logits → temperature → top-k → top-p, over what a `step` frame has: the 256 largest logits exactly, the rest as a
 * histogram. Pure; the order and the rules are those of the engine's sampler.
 *
 * Approximation: the logits of one histogram bin count as evenly spread. So the mass of the rest is approximate, and so
 * is a filter whose edge lies past the first 256. Among the first 256 every ratio is exact.
 */

/**
 * @param {{topLogits: Float32Array, tailCounts: Int32Array, tail: {low: number, high: number, count: number}}} logits
 * @param {{strategy: string, temperature: number, top_k: number, top_p: number}} settings
 * @returns {{
 *   scaled: Float64Array, final: Float64Array, cut: (null|"top-k"|"top-p")[],
 *   countTopK: number, countTopP: number, massTopK: number, massTopP: number,
 *   rest: number, finalRest: number, entropy: number, approximate: boolean}}
 *   `scaled`: probability after temperature; `final`: after the filters, renormalised; `rest`, `finalRest`: the same of all
 *   tokens past the listed ones; `entropy`: bits of the final distribution; `approximate`: a filter's edge lies in the histogram.
 * @throws {RangeError} when the temperature is not above zero
 */
export function distribution(logits, settings) {
  const greedy = settings.strategy === "greedy";
  const temperature = greedy ? 1 : settings.temperature;
  if (!(temperature > 0)) throw new RangeError(`temperature ${temperature} is not above zero`);
  const { scaled, bins, rest } = softmax(logits, temperature);
  const total = scaled.length + logits.tail.count;

  const countTopK = greedy || !settings.top_k ? total : Math.min(settings.top_k, total);
  const massTopK = massOfFirst(scaled, bins, countTopK);
  const countTopP =
    greedy || settings.top_p >= 1 ? countTopK : firstReaching(scaled, bins, settings.top_p * massTopK, countTopK);
  const massTopP = massOfFirst(scaled, bins, countTopP);

  const final = scaled.map((probability, rank) => (rank < countTopP ? probability / massTopP : 0));
  const cut = Array.from(scaled, (_, rank) => (rank < countTopP ? null : rank < countTopK ? "top-p" : "top-k"));
  const finalRest = Math.max(0, 1 - sum(final));
  return {
    scaled,
    final,
    cut,
    countTopK,
    countTopP,
    massTopK,
    massTopP,
    rest,
    finalRest,
    entropy: entropyBits(final, bins, countTopP, massTopP),
    approximate: countTopP > scaled.length && countTopP < total,
  };
}

/** Softmax of logits / temperature; `bins`: {count, mass} of the histogram, largest logits first. */
function softmax({ topLogits, tailCounts, tail }, temperature) {
  const largest = topLogits[0];
  const weights = Float64Array.from(topLogits, (logit) => Math.exp((logit - largest) / temperature));
  const bins = tail.count ? tailBins(tailCounts, tail, largest, temperature) : [];
  const total = sum(weights) + bins.reduce((mass, bin) => mass + bin.mass, 0);
  for (const bin of bins) bin.mass /= total;
  const scaled = weights.map((weight) => weight / total);
  return { scaled, bins, rest: bins.reduce((mass, bin) => mass + bin.mass, 0) };
}

/** Mean of exp(x / T) over a bin of width w around m: exp(m / T) · sinh(w / 2T) / (w / 2T). */
function tailBins(tailCounts, { low, high }, largest, temperature) {
  const width = (high - low) / tailCounts.length;
  const half = width / 2 / temperature;
  const spread = half > 0 ? Math.sinh(half) / half : 1;
  const bins = [];
  for (let bin = tailCounts.length - 1; bin >= 0; bin--) {
    if (!tailCounts[bin]) continue;
    const middle = low + (bin + 0.5) * width;
    bins.push({ count: tailCounts[bin], mass: tailCounts[bin] * Math.exp((middle - largest) / temperature) * spread });
  }
  return bins;
}

function massOfFirst(scaled, bins, count) {
  let mass = sum(scaled.subarray(0, Math.min(count, scaled.length)));
  let left = count - scaled.length;
  for (const bin of bins) {
    if (left <= 0) break;
    mass += bin.mass * Math.min(1, left / bin.count);
    left -= bin.count;
  }
  return mass;
}

/** @returns {number} how many of the largest reach the mass `target` together: at least one, at most `most` */
function firstReaching(scaled, bins, target, most) {
  let mass = 0;
  for (let rank = 0; rank < Math.min(scaled.length, most); rank++) {
    mass += scaled[rank];
    if (mass >= target) return rank + 1;
  }
  let count = scaled.length;
  for (const bin of bins) {
    if (mass + bin.mass >= target)
      return Math.min(most, count + Math.max(1, Math.ceil(((target - mass) / bin.mass) * bin.count)));
    mass += bin.mass;
    count += bin.count;
  }
  return most;
}

function entropyBits(final, bins, count, mass) {
  let bits = 0;
  for (const probability of final) bits -= probability > 0 ? probability * Math.log2(probability) : 0;
  let left = count - final.length;
  for (const bin of bins) {
    if (left <= 0) break;
    const each = bin.mass / bin.count / mass;
    if (each > 0) bits -= Math.min(left, bin.count) * each * Math.log2(each);
    left -= bin.count;
  }
  return bits;
}

function sum(values) {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** @returns {boolean} whether two settings choose the next token in the same way; seeds are not compared */
export function sameSettings(a, b) {
  if (a.strategy !== b.strategy) return false;
  return a.strategy === "greedy" || (a.temperature === b.temperature && a.top_k === b.top_k && a.top_p === b.top_p);
}
