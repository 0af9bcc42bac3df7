/**
 * Says which rows of a step this run computed, and which were in its cache. Pure.
 *
 * The log of a branch begins with the steps of the run that it branched from (docs/frames.md). The branch computed none of their rows, and their
 * times were measured by the other run, perhaps on another machine. Their K and V were in its cache before its own first step.
 */

/** @returns {number} the first step that this run computed itself: 0, except in a branch */
export function firstOwnStep({ open, promptLength }) {
  return open?.parent ? open.parent.position - promptLength + 1 : 0;
}

/** @returns {boolean} whether the run that this one branched from computed the step */
export function isInherited(run, step) {
  return step < firstOwnStep(run);
}

/** @returns {boolean} whether `step` of this run computed the row at a position */
export function isComputedIn(run, step, position) {
  return position >= run.reused && !isInherited(run, step) && run.stepOfQuery(position) === step;
}

/**
 * @param {Object} run
 * @param {number} step index of a complete step
 * @returns {{computed: number, first: number, read: number}} `computed`: rows that this run put through the model, from position `first`
 *   on; `read`: rows before them, whose K and V were in the cache. Without a cache, each step computes all rows
 */
export function stepRows(run, step) {
  const { firstQuery, rows, data } = run.steps[step];
  const keys = firstQuery + rows;
  const computed = isInherited(run, step) ? 0 : Math.min(keys, data.rows_computed);
  const first = keys - computed;
  return { computed, first, read: run.open?.study?.cache === "forgotten" ? 0 : first };
}

/**
 * Returns the steps around one whose times were measured by the same run, so that times of two runs are never compared as one run's.
 *
 * @param {Object} run
 * @param {number} step
 * @returns {{from: number, to: number}} `to`: the first step after them
 */
export function measuredTogether(run, step) {
  const own = firstOwnStep(run);
  if (step >= own) return { from: own, to: run.steps.length };
  // A token that was set marks where an earlier branch began.
  const ends = run.steps
    .slice(0, own)
    .flatMap(({ data }, at) => (data.token?.forced || at === own - 1 ? [at + 1] : []));
  return { from: ends.findLast((end) => end <= step) ?? 0, to: ends.find((end) => end > step) ?? own };
}

/** @returns {number} rows that were in the cache before the first step that this run computed itself */
export function rowsBefore(run) {
  return firstOwnStep(run) ? run.open.parent.position : run.reused;
}
