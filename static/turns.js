/**
 * The page is shown part by part: in each animation frame as many parts as its time allows, the others in the next ones.
 * A step that changes everything is then never one long task, and what moves is not held up by what is read.
 */

/** Time for rendering in one frame of 16 ms, after which what is left waits for the next. */
const BUDGET_MS = 8;

/**
 * The parts of the page, in the order in which they are shown. The first sees the newest state in every frame. The
 * others see it once each, over one frame or several: that is a round, after which the next begins if there is news.
 */
export const TURNS = ["map", "timeline", "inspector", "nextToken", "kvCache", "time", "rest"];

/**
 * @param {Object} parts
 * @param {{state: () => Object, subscribe: Function}} parts.store
 * @param {(state: Object) => void} parts.onShown is told the state of each round once every part shows it or a newer one
 * @param {{requestFrame: Function, cancelFrame: Function, now: () => number}} parts.clock
 * @returns {{state: () => Object, join: Function, stop: () => void}}
 */
export function createTurns({ store, onShown, clock }) {
  const listeners = Object.fromEntries(TURNS.map((turn) => [turn, new Set()]));
  let frame = 0;
  let shown = null;
  let round = null;
  let stopped = false;

  const schedule = () => {
    if (!frame && !stopped) frame = clock.requestFrame(onFrame);
  };

  const showTurn = async (turn) => {
    for (const listener of [...listeners[turn]]) listener(store.state());
    // What the listeners asked for is rendered in a microtask of its own, which comes before what follows here.
    await null;
  };

  const onFrame = async () => {
    const end = clock.now() + BUDGET_MS;
    round ??= { state: store.state(), next: 1 };
    await showTurn(TURNS[0]);
    // One more in every frame, however long the first takes, or the others would wait for ever.
    do {
      await showTurn(TURNS[round.next]);
      round.next += 1;
    } while (round.next < TURNS.length && clock.now() < end && !stopped);
    frame = 0;
    if (stopped) return;
    if (round.next === TURNS.length) {
      shown = round.state;
      round = null;
      onShown(shown);
    }
    if (store.state() !== shown) schedule();
  };

  const unsubscribe = store.subscribe(schedule);
  schedule();
  return {
    state: store.state,

    /**
     * @param {string} turn one of TURNS
     * @param {(state: Object) => void} listener renders what it is told, at the latest in the next microtask
     * @returns {() => void} leaves
     */
    join(turn, listener) {
      listeners[turn].add(listener);
      return () => listeners[turn].delete(listener);
    },

    stop() {
      stopped = true;
      unsubscribe();
      clock.cancelFrame(frame);
    },
  };
}
