/** The first thirty seconds of a run: six moments, which the player goes through as it goes through steps. Pure. */

/** How long each is shown at speed 1, in ms. */
const MOMENTS = { sentence: 2500, prefill: 5000, look: 4500, choice: 4500, cache: 7000, without: 6500 };

/** @typedef {"sentence"|"prefill"|"look"|"choice"|"cache"|"without"} Moment */

/** @returns {boolean} whether the intro is what the page shows */
export function inIntro({ selection }) {
  return selection.view === "intro";
}

/**
 * What there is to show by now: a run that is growing has more later. One without a look worth a thread, or without a
 * step of decode, is told without it.
 *
 * @param {{run: Object|null, look: Object|null}} state of the store
 * @returns {Moment[]}
 */
export function momentsOf({ run, look }) {
  const steps = run?.steps.length ?? 0;
  const there = {
    sentence: true,
    prefill: steps > 0,
    look: steps > 0 && look !== null,
    choice: steps > 0,
    cache: steps > 1,
    without: steps > 1 && run.close !== null,
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
