/** The first thirty seconds of a run: its moments, which the player goes through as it goes through steps. Pure. */

/** How long each is shown at speed 1, in ms. */
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
 * What there is to show by now: a run that is growing has more later. One without a look worth a thread, or without a
 * step of decode, is told without it; so is a study, which does not use the cache as runs do.
 *
 * @param {{run: Object|null, look: Object|null}} state of the store
 * @returns {Moment[]}
 */
export function momentsOf({ run, look }) {
  const steps = run?.steps.length ?? 0;
  const decodes = steps > 1 && !run.open.study;
  const there = {
    sentence: true,
    prefill: steps > 0,
    look: steps > 0 && look !== null,
    choice: steps > 0,
    cache: decodes,
    decode: decodes,
    again: decodes && steps > 2,
    pace: decodes && run.close !== null,
    without: decodes && run.close !== null,
  };
  return /** @type {Moment[]} */ (Object.keys(MOMENTS).filter((name) => there[name]));
}

/** @returns {Moment} the one in sight */
export function momentInSight(state) {
  return momentsOf(state)[state.intro.moment];
}

/** @returns {number} how long a moment is shown, in ms */
export function momentMs(state, moment) {
  return MOMENTS[momentsOf(state)[moment]] / state.speed;
}

/** @returns {boolean} whether the last moment there will be has been shown to its end */
export function introIsOver(state) {
  const { moment, progress } = state.intro;
  return Boolean(state.run?.close) && moment >= momentsOf(state).length - 1 && progress >= 1;
}
