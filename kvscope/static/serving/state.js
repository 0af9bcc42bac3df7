/**
 * The state of the page of serving. `run` is the workload that the address names; null: the recorded one is in sight. `log`
 * grows in place, and `version` changes whenever it does. The page shows the newest pass (following), a chosen pass
 * (resting), or one pass after the other (playing). Pure.
 */

import { changed } from "../shared/state/create-store.js";
import { advance, paceOf } from "../shared/state/pace.js";
import { msg } from "../shared/words/msg.js";

/** Of playback, relative to the measured times of the passes. */
export const SPEEDS = [
  { speed: 1, name: msg`as measured` },
  { speed: 0.5, name: msg`2× slower` },
  { speed: 0.25, name: msg`4× slower` },
  { speed: 0.1, name: msg`10× slower` },
];

/**
 * @typedef {Object} State
 * @property {{state: string, message?: string, model?: Object}} readiness
 * @property {{id: string, place: number, estimate_s: number|null}|null} waits the place in the queue of the workload that the
 *   viewer started
 * @property {string|null} run
 * @property {string|null} experiment the id of the opened experiment, as the address has it, valid or not
 * @property {import("./workload-log.js").Workload|null} log
 * @property {Error|null} missing why the log could not be read
 * @property {number} version
 * @property {"following"|"playing"|"resting"} mode
 * @property {number} pass shown, unless the newest is followed
 * @property {number} progress the share of the shown pass that has been played, 0…1
 * @property {number} speed
 */

/** @type {State} */
export const initialState = {
  ...{
    readiness: { state: "starting" },
    waits: null,
    run: null,
    experiment: null,
    log: null,
    missing: null,
    version: 0,
  },
  ...{ mode: "following", pass: 0, progress: 0, speed: 0.25 },
};

const rest = (/** @type {State} */ state, to) => ({ mode: "resting", pass: clamp(to, lastOf(state)), progress: 0 });

/** From the end, playing starts again at the beginning. */
const played = (state) => (shownPass(state) >= lastOf(state) && !isLive(state) ? 0 : Math.max(0, shownPass(state)));

/** At the newest pass of a log that grows, playing becomes following. */
function ticked(state, { pass, progress }) {
  if (pass < lastOf(state) || progress < 1) return { pass, progress };
  return isLive(state) ? { mode: "following" } : rest(state, pass);
}

const REDUCERS = {
  readiness: (_state, { readiness }) => ({ readiness }),
  waits: (_state, { waits }) => ({ waits }),
  experiment: (_state, { experiment }) => ({ experiment }),

  /** The state while another log loads: it follows the log, or waits for the pass that a link names. */
  open: (_state, { run, pass }) => ({
    run,
    log: null,
    missing: null,
    ...(pass === null ? { mode: "following" } : at(pass)),
  }),
  grew: (state, { log }) => ({ log, version: state.version + 1, missing: null }),
  missing: (_state, { problem }) => ({ log: null, missing: problem }),

  step: (state, { by }) => rest(state, shownPass(state) + by),
  go: (state, { to }) => rest(state, to),
  play: (state) => ({ mode: "playing", pass: played(state), progress: 0 }),
  pause: (state) => rest(state, shownPass(state)),
  follow: () => ({ mode: "following" }),
  speed: (_state, { speed }) => ({ speed }),
  tick: (state, { playhead }) => ticked(state, playhead),
};

const at = (pass) => ({ mode: "resting", pass, progress: 0 });

/** @returns {State} the next one. @throws {RangeError} for an unknown action */
export const reduce = (state, action) => changed(REDUCERS, state, action);

const lastOf = ({ log }) => (log?.passes.length ?? 0) - 1;

/** @returns {boolean} whether more passes may come */
export const isLive = ({ log }) => log !== null && !log.close;

/** @returns {number} the number of the shown pass; −1 if there is none */
export function shownPass(state) {
  return state.mode === "following" ? lastOf(state) : Math.min(state.pass, lastOf(state));
}

/** @returns {boolean} whether the clock has anything to do */
export const isMoving = (state) => state.mode === "playing" && lastOf(state) >= 0;

/** @returns {{pass: number, progress: number}|null} the pass that playback has reached after `ms` more milliseconds */
export function nextPass(state, ms) {
  if (!isMoving(state)) return null;
  const { passes } = state.log;
  const here = { step: shownPass(state), progress: state.progress };
  const { step, progress } = advance(here, ms, lastOf(state), (pass) => paceOf(passes[pass].ms / state.speed));
  return { pass: step, progress };
}

function clamp(pass, last) {
  return Math.max(0, Math.min(pass, last));
}

/**
 * Picks the pass at which a finished log opens: the one that serves most requests and, if possible, reads a prompt.
 *
 * @param {Object[]} passes
 */
export function openingPass(passes) {
  let best = 0;
  const worth = ({ members }) => members.length + (members.some(({ phase }) => phase === "prefill") ? 0.5 : 0);
  passes.forEach((pass, number) => {
    if (worth(pass) > worth(passes[best])) best = number;
  });
  return best;
}
