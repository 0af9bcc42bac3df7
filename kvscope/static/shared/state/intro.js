/** The intro, the first thirty seconds of a run: its moments, which the player plays like steps. Pure. */

/** Duration of each moment at speed 1, in ms. */
const MOMENTS = {
  sentence: 3000,
  prefill: 5500,
  look: 6000,
  choice: 5000,
  cache: 6000,
  decode: 5000,
  again: 5000,
  pace: 5000,
  without: 5000,
};

/** @typedef {"sentence"|"prefill"|"look"|"choice"|"cache"|"decode"|"again"|"pace"|"without"} Moment */

/** @returns {boolean} whether the intro is what the page shows */
export function inIntro({ selection }) {
  return selection.view === "intro";
}

/**
 * Returns the moments available now; a growing run has more later. Some need a clear look or a decode step. A twin or a beam search
 * lacks those about the cache, which it does not use as other runs do; a branch lacks those about times, because it timed only its last
 * steps.
 *
 * @param {{run: Object|null, look: Object|null}} state of the store
 * @returns {Moment[]}
 */
export function momentsOf({ run, look }) {
  const steps = run?.steps.length ?? 0;
  const decodes = steps > 1 && !run.open.study;
  const whole = decodes && run.close !== null && !run.open.parent;
  const there = {
    sentence: true,
    prefill: steps > 0,
    look: steps > 0 && look !== null,
    choice: steps > 0,
    cache: decodes,
    decode: decodes,
    again: decodes && steps > 2,
    pace: whole,
    without: whole,
  };
  return /** @type {Moment[]} */ (Object.keys(MOMENTS).filter((name) => there[name]));
}

/** @returns {Moment} the current moment */
export function momentInSight(state) {
  return momentsOf(state)[state.intro.moment];
}

/** @returns {number} the duration of a moment, in ms */
export function momentMs(state, moment) {
  return MOMENTS[momentsOf(state)[moment]] / state.speed;
}

/** @returns {boolean} whether the last moment has been shown to its end and no more will come */
export function introIsOver(state) {
  const { moment, progress } = state.intro;
  return Boolean(state.run?.close) && moment >= momentsOf(state).length - 1 && progress >= 1;
}
