/** A player's clock: it moves a playhead on animation frames. */

/** The longest time that one frame may count for, so that a background tab does not accumulate time, in ms. */
const LONGEST_FRAME_MS = 100;

function isElsewhere(playhead, state) {
  const [there, here] = playhead.intro ? [playhead.intro, state.intro] : [playhead, state];
  return Object.keys(there).some((name) => there[name] !== here[name]);
}

/**
 * @param {Object} parts
 * @param {Object} parts.store gets each change as the action `tick`
 * @param {(state: Object, ms: number) => Object|null} parts.next the playhead after that time; null if nothing moves
 * @param {(state: Object) => boolean} parts.isMoving whether the clock has anything to do
 * @param {Function} parts.requestFrame
 * @param {Function} parts.cancelFrame
 * @returns {() => void} stops the clock
 */
export function createPlayer({ store, requestFrame, cancelFrame, next, isMoving }) {
  let handle = null;
  let before = null;

  const frame = (now) => {
    handle = null;
    const ms = before === null ? 0 : Math.min(now - before, LONGEST_FRAME_MS);
    before = now;
    const state = store.state();
    const playhead = next(state, ms);
    if (playhead && isElsewhere(playhead, state)) store.dispatch({ type: "tick", playhead });
    schedule();
  };

  const schedule = () => {
    if (handle !== null) return;
    if (isMoving(store.state())) handle = requestFrame(frame);
    else before = null;
  };

  const unsubscribe = store.subscribe(schedule);
  schedule();
  return () => {
    unsubscribe();
    if (handle !== null) cancelFrame(handle);
  };
}
