/** Measured times of a run's steps. Pure. */

/** @returns {number} the middle value, or the mean of the two middle ones; NaN of nothing */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * @param {Object} run
 * @param {number} step the step in sight; only what had been measured by then counts
 * @returns {{prefill: {ms: number, tokens: number, perToken: number, chunks: number},
 *   decode: null|{here: number|null, median: number, perSecond: number, steps: number[]},
 *   parts: {name: string, ms: number}[], total: number, batch: number}}
 *   ms throughout; `parts`: what the step in sight spent its time on, out of `total`
 */
export function timeFacts(run, step) {
  const ms = (at) => run.steps[at].data.ms;
  const { data } = run.steps[step];
  const steps = [];
  for (let at = 1; at <= step; at++) steps.push(ms(at).total);
  const middle = median(steps);
  const { forward, capture, sample, total } = data.ms;
  return {
    prefill: {
      ms: ms(0).total,
      tokens: run.promptLength,
      perToken: ms(0).total / run.promptLength,
      chunks: ms(0).chunks.length,
    },
    decode: steps.length ? { here: step > 0 ? total : null, median: middle, perSecond: 1000 / middle, steps } : null,
    parts: [
      { name: "forward", ms: forward },
      { name: "capture", ms: capture },
      { name: "sample", ms: sample },
    ],
    total,
    batch: data.batch,
  };
}
