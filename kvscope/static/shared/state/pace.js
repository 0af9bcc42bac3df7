/** Relates a step's progress to the clock: evenly, except for a part that is shown more slowly. Pure. */

/**
 * @param {number} ms duration of the step without the slow part's delay
 * @param {{from: number, to: number, ms: number}|null} [slow] its range of progress and its duration
 * @returns {{ms: number, timeAt: (progress: number) => number, progressAt: (time: number) => number}} `ms`: of the whole step
 */
export function paceOf(ms, slow = null) {
  if (!slow || slow.to <= slow.from || slow.ms <= (slow.to - slow.from) * ms)
    return { ms, timeAt: (progress) => progress * ms, progressAt: (time) => time / ms };
  const { from, to } = slow;
  const [begins, ends] = [from * ms, from * ms + slow.ms];
  return {
    ms: ends + (1 - to) * ms,
    timeAt(progress) {
      if (progress <= from) return progress * ms;
      return progress < to ? begins + ((progress - from) / (to - from)) * slow.ms : ends + (progress - to) * ms;
    },
    progressAt(time) {
      if (time <= begins) return time / ms;
      return time < ends ? from + ((time - begins) / slow.ms) * (to - from) : to + (time - ends) / ms;
    },
  };
}

/**
 * Moves a playhead on by `ms`.
 *
 * @param {{step: number, progress: number}} playhead
 * @param {number} ms time that passed
 * @param {number} last the newest step it may reach
 * @param {(step: number) => {ms: number, timeAt: Function, progressAt: Function}} paceAt `paceOf` for a step
 * @returns {{step: number, progress: number}} progress 1 means the playhead rests at the end of `step`
 */
export function advance({ step, progress }, ms, last, paceAt) {
  let remaining = ms;
  for (;;) {
    const pace = paceAt(step);
    const time = pace.timeAt(progress) + remaining;
    if (time < pace.ms) return { step, progress: pace.progressAt(time) };
    if (step >= last) return { step, progress: 1 };
    remaining = time - pace.ms;
    step += 1;
    progress = 0;
  }
}
