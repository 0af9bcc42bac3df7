/**
 * The Stage's state. `reduce` is pure; components get values and send actions.
 *
 * `run` itself grows in place; `version` changes whenever it does. `insteadOf`: the study whose link led to it.
 * `sampling` is what the next run will use; `whatIf` is only looked at on the step in sight, null meaning the settings
 * the run in sight was made with. `branching` is the token that a branch is being started with. `layerStop`, while a step
 * is walked layer by layer, is how many of its layers are shown (1…layers); null when it is not. `sandboxed`: the page is
 * in a frame without an origin, where nothing can be started. `embed`: the page is part of another one, without what
 * `hide` names; null when it stands by itself. `file`: the page is a file that has its run inside, without a server. `asking`: a prompt of one's own is being typed. `intro` is the playhead of the first
 * thirty seconds, whose thread is `look`, as `tellingLook` gives it.
 */

import { changed, storeOf } from "./create-store.js";
import { progressAt, revealAt, sweepShare } from "./easing.js";
import { inIntro, introIsOver, momentsOf } from "./intro.js";
import { walk } from "./layer-walk.js";
import { sweptSteps } from "./settled.js";

export const initialState = {
  readiness: { state: "loading", phase: "", done: 0, total: 0, message: "", model: null },
  examples: [],
  limits: /** @type {Object<string, number>} */ ({}),
  run: null,
  insteadOf: null,
  version: 0,
  connected: true,
  opening: false,
  branching: null,
  held: false,
  waits: null,
  enginePaused: false,
  wanted: false,
  step: 0,
  progress: 1,
  intro: { moment: 0, progress: 1 },
  look: null,
  reveal: 0,
  settled: 0,
  reached: 0,
  layerStop: null,
  playing: false,
  following: false,
  speed: 1,
  reducedMotion: false,
  selection: { layer: 0, head: 0, query: null, key: null, view: "head" },
  entered: 0,
  hover: null,
  sampling: { strategy: "greedy", temperature: 1, top_k: 0, top_p: 1, seed: 0 },
  whatIf: null,
  asking: false,
  prompt: "",
  chat: false,
  maxNewTokens: 32,
  /** Off, unlike for programs: whoever runs a prompt here is to see all of its prefill. */
  reuse: false,
  edited: false,
  problem: null,
  theme: "light",
  present: false,
  sandboxed: false,
  file: false,
  embed: null,
  printing: false,
  phase: "loading",
};

/** The playhead is where it was put, and no clock moves it on to another step. */
const standing = { playing: false, following: false, wanted: false, layerStop: null };

const REDUCERS = {
  readiness: (state, { readiness }) => ({ readiness: { ...state.readiness, ...readiness } }),

  ask: (_state, { asking }) => ({ asking }),
  prompt: (_state, { prompt }) => ({ prompt, edited: true }),
  settings: (_state, { patch }) => ({ ...patch, edited: true }),
  sampling: (state, { patch }) => ({ sampling: { ...state.sampling, ...patch }, edited: true }),
  whatIf: (state, { patch }) => ({ whatIf: patch && { ...(state.whatIf ?? state.run.open.sampling), ...patch } }),
  theme: (_state, { theme }) => ({ theme }),
  present: (_state, { present }) => ({ present }),
  printing: (_state, { printing }) => ({ printing }),
  motion: (_state, { reducedMotion }) => ({ reducedMotion }),
  speed: (_state, { speed }) => ({ speed }),
  problem: (_state, { problem }) => ({ problem, held: false, opening: false, branching: null }),
  hold: (_state, { held }) => ({ held, problem: null }),

  /** Where the run that is being started stands in line, null when it does not. */
  waits: (_state, { waits }) => ({ waits }),

  connection: (_state, { connected }) => ({ connected }),

  /** The run cannot be had: what was shown goes, the reason stays. */
  unwatchable: (_state, { problem }) => ({
    run: null,
    problem,
    opening: false,
    branching: null,
    playing: false,
    following: false,
  }),
  opening: () => ({ opening: true, held: false, problem: null }),
  branching: (_state, { token }) => ({ branching: token, problem: null }),
  opened: (_state, { run, playing, view = initialState.selection.view, insteadOf = null }) => ({
    run,
    insteadOf,
    asking: false,
    connected: true,
    problem: null,
    opening: false,
    branching: null,
    enginePaused: false,
    wanted: false,
    step: 0,
    progress: playing ? 0 : 1,
    intro: { moment: 0, progress: playing ? 0 : 1 },
    look: null,
    layerStop: null,
    playing,
    following: false,
    hover: null,
    whatIf: null,
    selection: { ...initialState.selection, view },
  }),
  /** A viewer who follows is at the newest step as soon as it is there. A playhead that waits for one may wait no longer. */
  grew: (state) => {
    const grown = { ...state, ...(state.following ? newest(state) : {}) };
    const { step, progress } = grown;
    return { version: state.version + 1, step, progress, ...stopAtTheEnd(grown) };
  },
  settingsOfRun: (state, { open }) =>
    state.edited
      ? {}
      : { prompt: open.prompt, chat: open.chat, sampling: open.sampling, maxNewTokens: open.limits.max_new_tokens },
  engine: (_state, { paused }) => ({ enginePaused: paused }),
  wanted: (_state, { wanted }) => ({ wanted }),

  tick: (state, { playhead }) => ({ ...playhead, ...stopAtTheEnd({ ...state, ...playhead }) }),
  play: (state) => ({ ...standing, playing: true, ...(atTheEnd(state) ? placed(state, 0, 0) : {}) }),
  pause: (state) => ({ playing: false, following: false, layerStop: null, ...placed(state, placeOf(state), 1) }),
  follow: () => ({ ...standing, playing: true, following: true }),
  seek: (_state, { step }) => ({ ...standing, step, progress: 1 }),
  show: (_state, { step }) => ({ ...standing, step, progress: 0 }),
  /** One moment of the intro, shown at once or as it comes about. */
  moment: (_state, { moment, progress = 1 }) => ({ ...standing, intro: { moment, progress } }),
  look: (_state, { look }) => ({ look }),
  fastForward: (state) =>
    state.layerStop || inIntro(state)
      ? {}
      : { progress: state.playing ? Math.max(state.progress, sweepEnd(state)) : 1 },
  /** One layer on or back, and there the playhead stands. */
  walk: (state, { change }) => walked(state, change),

  select: (state, { selection }) => ({ selection: { ...state.selection, ...selection } }),
  /** As `select`, by a key that means to go there: keyboard focus follows. */
  enter: (state, { selection }) => ({ selection: { ...state.selection, ...selection }, entered: state.entered + 1 }),
  hover: (_state, { hover }) => ({ hover }),
};

/** @returns {Object} the next state. @throws {RangeError} for an action there is not */
export function reduce(state, action) {
  return derive(changed(REDUCERS, state, action));
}

/** What follows from the rest: values inside the run's bounds, layers shown, phase. */
function derive(state) {
  const { run } = state;
  const last = Math.max(0, (run?.steps.length ?? 0) - 1);
  const step = clamp(state.step, 0, last);
  const layers = run?.layers ?? 0;
  const moving = state.reducedMotion ? layers : revealAt(state.progress, layers, msOf(run, step));
  const reveal = state.layerStop ?? moving;
  const moment = clamp(state.intro.moment, 0, momentsOf(state).length - 1);
  const intro = moment === state.intro.moment ? state.intro : { ...state.intro, moment };
  const bounded = { ...state, step, intro, reveal, selection: clampSelection(state.selection, run) };
  return { ...bounded, ...sweptSteps(bounded), phase: phaseOf(bounded) };
}

const msOf = (run, step) => run?.steps[step]?.data.ms;

/** @returns {number} the progress at which all layers of the step in sight are there */
function sweepEnd({ run, step }) {
  return sweepShare(msOf(run, step), run?.layers ?? 0);
}

function walked({ run, step, layerStop, selection }, change) {
  if (!run?.steps.length) return {};
  const at = walk({ step, layerStop }, change, { steps: run.steps.length, layers: run.layers });
  const progress = at.layerStop ? progressAt(at.layerStop, run.layers, msOf(run, at.step)) : 1;
  const layer = at.layerStop ? at.layerStop - 1 : run.layers - 1;
  return { ...standing, ...at, progress, selection: { ...selection, layer } };
}

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

function clampSelection(selection, run) {
  if (!run?.open) return selection;
  const { layer, head, query, key } = selection;
  const bounded = { ...selection, layer: clamp(layer, 0, run.layers - 1), head: clamp(head, 0, run.heads - 1) };
  if (run.positions) {
    // Of a row that was read from the cache nobody knows here where it looked.
    bounded.query = query === null ? null : clamp(query, run.reused, run.positions - 1);
    bounded.key = key === null ? null : clamp(key, 0, bounded.query ?? run.positions - 1);
  }
  const same = Object.keys(bounded).every((name) => bounded[name] === selection[name]);
  return same ? selection : bounded;
}

/** Whether the playhead rests on the last step of a run that will not grow, or the intro's on its last moment. */
function atTheEnd(state) {
  if (inIntro(state)) return introIsOver(state);
  const { run, step, progress } = state;
  return Boolean(run?.close) && step >= run.steps.length - 1 && progress >= 1;
}

const placeOf = (state) => (inIntro(state) ? state.intro.moment : state.step);

/** The playhead of what is shown: of the intro's moments, or of the run's steps. */
function placed(state, place, progress) {
  return inIntro(state) ? { intro: { moment: place, progress } } : { step: place, progress };
}

function newest({ run, step, progress }) {
  const last = run.steps.length - 1;
  return step < last ? { step: last, progress: 0 } : { step, progress };
}

function stopAtTheEnd(state) {
  return atTheEnd(state) ? { playing: false, following: false } : {};
}

/** The page's state in one word, as `<html data-state>` carries it. */
function phaseOf(state) {
  const { run, readiness } = state;
  if (!run?.open || run.steps.length === 0) {
    if (run?.close || (state.problem && !run)) return "error";
    if (run || state.opening || state.held) return "loading";
    if (readiness.state === "failed") return "error";
    return readiness.state === "ready" ? "idle" : "loading";
  }
  if (state.playing || state.following) return "running";
  if (!atTheEnd(state)) return "paused";
  return ["failed", "interrupted"].includes(run.close.reason) ? "error" : "done";
}

/** @returns {Object} as `storeOf` */
export const createStore = (overrides = {}) => storeOf(derive({ ...initialState, ...overrides }), reduce);
