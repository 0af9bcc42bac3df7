/**
 * The page is shown part by part: in each animation frame as many parts as its time allows, the others in the next ones.
 * A step that changes everything is then never one long task, and what moves is not held up by what is read. All else
 * that wants a share of a frame, the slices of a painting above all, is in the same queue: what kept to a time of its
 * own would be one task with the rest of its frame. What makes something anew, whose style, layout and code are all new to
 * the browser, leaves its frame only what surely fits; and where a scene begins, which makes every part anew, each part has
 * a frame to itself.
 */

/**
 * Time for rendering in one frame of 16 ms. What would need more waits for the next, going by the shorter of its last two
 * turns: a turn is also long when other programs have the processors.
 */
const BUDGET_MS = 7;
/** What nobody waits for is done in a frame that has nothing else to show, or after so many frames. */
const PATIENCE_FRAMES = 12;

/**
 * The parts of the page, in the order in which they are shown. The first sees the newest state in every frame. The
 * others see it one after the other, over one frame or several, round and round as long as there is news.
 */
export const TURNS = ["map", "timeline", "inspector", "nextToken", "kvCache", "time", "rest"];

/**
 * @param {Object} parts
 * @param {{state: () => Object, subscribe: Function}} parts.store
 * @param {(state: Object) => string|null} parts.sceneOf names what the parts are made for: another name makes them anew. null:
 *   there is nothing to make
 * @param {(state: Object) => void} parts.onShown is told each state that every part shows, or shows a newer one than
 * @param {{requestFrame: Function, cancelFrame: Function, now: () => number}} parts.clock
 * @returns {{state: () => Object, join: Function, later: Function, stop: () => void}}
 */
export function createTurns({ store, sceneOf, onShown, clock }) {
  const listeners = Object.fromEntries(TURNS.map((turn) => [turn, new Set()]));
  const [first, ...others] = TURNS;
  /** The state that each of the others showed last. Which of them is next saw its own before all of the rest. */
  const seen = new Map(others.map((turn) => [turn, null]));
  /** How long its last turn took, and the one before, in ms. */
  const took = new Map(others.map((turn) => [turn, [0, 0]]));
  /** The scene that each part showed last. A state may grow in place: its scene's name is asked for as it is shown. */
  const scenes = new Map();
  /** Whether it makes something anew, by job. */
  const jobs = new Map();
  const spare = new Set();
  let passed = 0;
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

  const isNewTo = (turn, scene) => scene !== null && scenes.get(turn) !== scene;

  const doFirst = (queue) => {
    const [job] = queue.keys();
    queue.delete(job);
    job();
  };

  const showPart = async (turn) => {
    const before = shownByAll();
    const start = clock.now();
    seen.set(turn, store.state());
    await rendered(() => tell(turn));
    took.set(turn, [clock.now() - start, took.get(turn)[0]]);
    place = (place + 1) % others.length;
    if (!stopped && shownByAll() && shownByAll() !== before) onShown(shownByAll());
    if (!hasNews()) place = 0;
  };

  const onFrame = async () => {
    try {
      await show(clock.now() + BUDGET_MS);
      if (spare.size && !stopped) await takeSpare();
    } finally {
      frame = 0;
      if (hasNews() || jobs.size || spare.size) schedule();
    }
  };

  const takeSpare = async () => {
    passed += 1;
    if ((hasNews() || jobs.size) && passed < PATIENCE_FRAMES) return;
    passed = 0;
    await rendered(() => doFirst(spare));
  };

  const show = async (end) => {
    const state = store.state();
    const scene = sceneOf(state);
    const [makesAnew = false] = jobs.values();
    if (hasNews() && isNewTo(first, scene)) {
      scenes.set(first, scene);
      await rendered(() => tell(first));
      return;
    }
    const partAnew = hasNews() && isNewTo(others[place], scene);
    // Together: a slice of the first part's painting and its turn then are one rendering.
    await rendered(() => {
      if (jobs.size && (makesAnew || !partAnew)) doFirst(jobs);
      if (hasNews()) tell(first);
    });
    // One of the others in every frame, however long the first takes, or they would wait for ever. News out of the
    // page itself waits for the next frame, where the first part is first to show it.
    for (let begun = makesAnew; hasNews() && store.state() === state && !stopped; begun = true) {
      const turn = others[place];
      const anew = isNewTo(turn, scene);
      if (begun && (anew || clock.now() + Math.min(...took.get(turn)) > end)) return;
      scenes.set(turn, scene);
      await showPart(turn);
      if (anew) return;
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
     * @param {Object} [how]
     * @param {boolean} [how.anew] it makes something anew: of the others, only those are shown in that frame that fit in
     * @param {boolean} [how.spare] nobody waits for it: in a frame with nothing else to show
     * @returns {() => void} takes it back
     */
    later(job, { anew = false, spare: isSpare = false } = {}) {
      if (isSpare) spare.add(job);
      else jobs.set(job, anew);
      schedule();
      return () => (isSpare ? spare : jobs).delete(job);
    },

    stop() {
      stopped = true;
      unsubscribe();
      clock.cancelFrame(frame);
    },
  };
}
