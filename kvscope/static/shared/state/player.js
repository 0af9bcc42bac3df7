/**
 * Moves the Stage's playhead with the clock. Live and replay use the same code: the playhead moves over the complete steps of the log.
 *
 * A step is shown for its measured time × a slow-down factor. `progress` runs 0 → 1 inside a step; during its
 * first part the layers appear (easing.js), the selected one slowly enough to follow (lens.js). Pure.
 */

import { inIntro, momentMs, momentsOf } from "./intro.js";
import { slowPart } from "./lens.js";
import { advance, paceOf } from "./pace.js";

/** Duration of a median decode step at speed 1, in ms. */
const TARGET_STEP_MS = 700;
/** The longest duration of a step at speed 1, in ms. */
const LONGEST_STEP_MS = 2600;
/** Duration of a step that is followed live, in ms: shown at once, with a short sweep. */
const FOLLOWED_DECODE_MS = 130;
const FOLLOWED_PREFILL_MS = 700;
export const SPEEDS = [0.25, 0.5, 1, 2, 4];

/** Returns the measured time of a step, in ms; in a log without times, all steps are shown alike. */
const measuredMs = ({ data }) => data.ms?.total ?? TARGET_STEP_MS;

/** Returns the median measured time of the decode steps so far, or the time of prefill before the first of them, in ms. */
export function typicalStepMs(steps) {
  const decode = steps.slice(1).map(measuredMs);
  if (decode.length === 0) return steps[0] ? measuredMs(steps[0]) : TARGET_STEP_MS;
  decode.sort((a, b) => a - b);
  return decode[Math.floor(decode.length / 2)];
}

/**
 * Returns how long a step is shown, in ms, without the extra time of its lens.
 *
 * @param {{data: {ms: {total: number}}}[]} steps
 */
export function shownMs(steps, step, speed) {
  const slowdown = Math.max(1, Math.round(TARGET_STEP_MS / typicalStepMs(steps)));
  return Math.min(measuredMs(steps[step]) * slowdown, LONGEST_STEP_MS) / speed;
}

/** Returns how many times slower than measured a step is shown outside its lens (below 1: faster); null without a measured time. */
export function slowdownOf(steps, step, speed) {
  const { ms } = steps[step].data;
  return ms ? shownMs(steps, step, speed) / ms.total : null;
}

/** Moves the playhead of the intro, whose last moment may not exist yet. */
function nextMoment(state, ms) {
  const { moment: step, progress } = state.intro;
  const last = state.playing ? momentsOf(state).length - 1 : step;
  const next = advance({ step, progress }, ms, last, (at) => paceOf(momentMs(state, at)));
  return { intro: { moment: next.step, progress: next.progress } };
}

/**
 * Returns the playhead after a frame of `ms`. It moves in three ways: it follows the live edge, plays, or finishes one requested step.
 *
 * @param {Object} state of the store
 * @returns {{step: number, progress: number}|{intro: {moment: number, progress: number}}|null} null when nothing moves
 */
export function nextPlayhead(state, ms) {
  if (inIntro(state)) return nextMoment(state, ms);
  const { run, step, progress } = state;
  const last = (run?.steps.length ?? 0) - 1;
  if (last < 0 || state.layerStop) return null;
  if (state.following) {
    const here = step < last ? { step: last, progress: 0 } : { step, progress };
    const duration = run.steps[here.step].data.phase === "prefill" ? FOLLOWED_PREFILL_MS : FOLLOWED_DECODE_MS;
    return advance(here, ms, last, () => paceOf(duration));
  }
  const limit = state.playing ? last : step;
  return advance({ step, progress }, ms, limit, (at) =>
    paceOf(shownMs(run.steps, at, state.speed), slowPart(state, at)),
  );
}

/** Returns whether the playhead moves. It does not during a layer-by-layer walk. */
export function moves(state) {
  if (inIntro(state)) return Boolean(state.run?.steps.length) && (state.playing || state.intro.progress < 1);
  if (!state.run?.steps.length || state.layerStop) return false;
  return state.playing || state.following || state.progress < 1;
}
