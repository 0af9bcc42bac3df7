/**
 * The page is shown part by part: in each animation frame as many parts as its time allows, the others in the next ones.
 * A step that changes everything is then never one long task, and what moves is not held up by what is read. All else
 * that wants a share of a frame, the slices of a painting above all, is in the same queue: what kept to a time of its
 * own would be one task with the rest of its frame.
 */

/** Time for rendering in one frame of 16 ms. */
const BUDGET_MS = 7;

/**
 * The parts of the page, in the order in which they are shown. The first sees the newest state in every frame. The
 * others see it one after the other, over one frame or several, round and round as long as there is news.
 */
export const TURNS = ["map", "timeline", "inspector", "nextToken", "kvCache", "time", "rest"];

/**
 * @param {Object} parts
 * @param {{state: () => Object, subscribe: Function}} parts.store
 * @param {(state: Object) => void} parts.onShown is told each state that every part shows, or shows a newer one than
 * @param {{requestFrame: Function, cancelFrame: Function, now: () => number}} parts.clock
 * @returns {{state: () => Object, join: Function, later: (job: () => void) => () => void, stop: () => void}}
 */
export function createTurns({ store, onShown, clock }) {
  const listeners = Object.fromEntries(TURNS.map((turn) => [turn, new Set()]));
  const [first, ...others] = TURNS;
  /** The state that each of the others showed last. Which of them is next saw its own before all of the rest. */
  const seen = new Map(others.map((turn) => [turn, null]));
  const jobs = new Set();
  let frame = 0;
  let place = 0;
  let stopped = false;

  const shownByAll = () => seen.get(others[place]);
  const hasNews = () => shownByAll() !== store.state();

  const schedule = () => {
    if (!frame && !stopped) frame = clock.requestFrame(onFrame);
  };

  /** What it is about to do asks for is rendered in a microtask of its own, which comes before what follows it here. */
  const rendered = async (act) => {
    act();
    await null;
  };

  const tell = (turn) => {
    for (const listener of [...listeners[turn]]) listener(store.state());
  };

  const doFirst = () => {
    const [job] = jobs;
    jobs.delete(job);
    job();
  };

  const showPart = async () => {
    const before = shownByAll();
    const turn = others[place];
    seen.set(turn, store.state());
    await rendered(() => tell(turn));
    place = (place + 1) % others.length;
    if (!stopped && shownByAll() && shownByAll() !== before) onShown(shownByAll());
    if (!hasNews()) place = 0;
  };

  const onFrame = async () => {
    const state = store.state();
    const end = clock.now() + BUDGET_MS;
    try {
      // Together: a slice of the first part's painting and its turn then are one rendering.
      await rendered(() => {
        if (jobs.size) doFirst();
        if (hasNews()) tell(first);
      });
      // One of the others in every frame, however long the first takes, or they would wait for ever. News out of the
      // page itself waits for the next frame, where the first part is first to show it.
      let begun = false;
      while (hasNews() && store.state() === state && !stopped && (!begun || clock.now() < end)) {
        begun = true;
        await showPart();
      }
    } finally {
      frame = 0;
      if (hasNews() || jobs.size) schedule();
    }
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

    /**
     * @param {() => void} job is done once, in a later frame: one in each, those first that were asked for first
     * @returns {() => void} takes it back
     */
    later(job) {
      jobs.add(job);
      schedule();
      return () => jobs.delete(job);
    },

    stop() {
      stopped = true;
      unsubscribe();
      clock.cancelFrame(frame);
    },
  };
}
