/**
 * The Stage's state, and the reducers that change it by action. `reduce` is pure.
 *
 * Components read values of the state and dispatch actions for what the viewer does. The controller dispatches what the server
 * answers: through opening.js the frames of the shown run, original.js those of the run that it changes, model-polling.js the models,
 * and run-control.js whether the engine is paused. The player (shared/state/clock.js) moves the playhead with `tick`; main.js and
 * printing.js dispatch what the browser says of theme, motion and paper. Nothing else writes the state, and `derive` keeps every
 * value within the bounds of the run.
 */

import { isInherited } from "../../shared/facts/step-rows.js";
import { changed, storeOf } from "../../shared/state/create-store.js";
import { progressAt, revealAt, sweepShare } from "../../shared/state/easing.js";
import { inIntro, introIsOver, momentsOf } from "../../shared/state/intro.js";
import { CHANGING, changingFor } from "./changing.js";
import { focusAfter, lasting } from "./focus.js";
import { sweptSteps, walk } from "./layer-sweep.js";

export const initialState = {
  readiness: { state: "loading", phase: "", done: 0, total: 0, message: "", model: null },
  examples: [],
  limits: /** @type {Object<string, number>} */ ({}),
  severalModels: false,
  /** Those of a server with `severalModels`. */
  models: /** @type {import("../facts/models.js").Offered[]} */ ([]),
  /** The model that the viewer chose for the next run; null until then. */
  model: /** @type {string|null} */ (null),
  /** It grows in place; `version` changes whenever it does. */
  run: null,
  /** The twin or beam search whose link led to this run. */
  insteadOf: null,
  version: 0,
  connected: true,
  caughtUp: 0,
  opening: false,
  /** The token of the branch that is being started. */
  branching: null,
  held: false,
  waits: null,
  enginePaused: false,
  wanted: false,
  step: 0,
  progress: 1,
  /** The playhead of the first thirty seconds, and the cell of attention that they are about, as `tellingLook` returns it. */
  intro: { moment: 0, progress: 1 },
  look: null,
  reveal: 0,
  settled: 0,
  reached: 0,
  /** Layers shown (1…layers) in a layer-by-layer walk, else null. */
  layerStop: null,
  playing: false,
  following: false,
  speed: 1,
  reducedMotion: false,
  /** `focus`: focus.js. */
  selection: { layer: 0, head: 0, query: null, key: null, view: "head", focus: /** @type {string[]|null} */ (null) },
  /** Whether the viewer or a link chose the layer or head, so that nothing else moves it. */
  headChosen: false,
  entered: 0,
  hover: null,
  /** Whether the panel with the computation in PyTorch is open. */
  code: false,
  /** The measured effects of switching parts off, by `effectsKey`. */
  effects: /** @type {Object<string, Object>} */ ({}),
  /** Names of tensors, like `pointed` (lit.js). */
  lit: [],
  pointed: [],
  /** Twins and beam searches whose results the page has shown: `experiment` is "none" or "forgotten" for a twin, else "beam". */
  ended: /** @type {{run: string, experiment: string}[]} */ ([]),
  /** Settings of the next run. */
  sampling: { strategy: "greedy", temperature: 1, top_k: 0, top_p: 1, seed: 0 },
  /** Settings that the viewer tries on the shown step; null for those of the run. */
  whatIf: null,
  changing: /** @type {import("./changing.js").Changing|null} */ (null),
  original: /** @type {import("./original.js").Original|null} */ (null),
  /** Whether the viewer has opened the prompt form. */
  asking: false,
  prompt: "",
  chat: false,
  maxNewTokens: 32,
  /** Off, unlike in the API, so that a run started here shows all of its prefill. */
  reuse: false,
  edited: false,
  problem: null,
  theme: "light",
  present: false,
  /** Whether the page is in a frame without an origin, which cannot start runs. */
  sandboxed: false,
  /** Whether the page is a saved file with its run inside, without a server. */
  file: false,
  /** Whether the page is a file of a static site. */
  inSite: false,
  /** Whether this device can compute, and whether it does so without being chosen. @type {""|"offer"|"default"} */
  engine: "",
  /** Whether this device computes the runs that this page starts, instead of a server. */
  here: false,
  /** {hide}: the parts that are left out inside another page; null if the page is not embedded. */
  embed: null,
  /** What the kernel of a notebook's widget does (static/embed/kernel-source.js). */
  kernel: /** @type {string|null} */ (null),
  printing: false,
  phase: "loading",
};

const EFFECTS = "effects";

/** A playhead that does not move by itself. */
const standing = { playing: false, following: false, wanted: false, layerStop: null };

const REDUCERS = {
  effects: (state, { key, found }) => ({ effects: { ...state.effects, [key]: found } }),

  readiness: (state, { readiness }) => ({ readiness: { ...state.readiness, ...readiness } }),

  models: (_state, { models }) => ({ models }),

  ask: (_state, { asking }) => ({ asking }),
  prompt: (_state, { prompt }) => ({ prompt, edited: true }),
  settings: (_state, { patch }) => ({ ...patch, edited: true }),
  sampling: (state, { patch }) => ({ sampling: { ...state.sampling, ...patch }, edited: true }),
  whatIf: (state, { patch }) => ({ whatIf: patch && { ...(state.whatIf ?? state.run.sampling), ...patch } }),
  theme: (_state, { theme }) => ({ theme }),
  present: (_state, { present }) => ({ present }),
  printing: (_state, { printing }) => ({ printing }),
  kernel: (_state, { kernel }) => ({ kernel }),
  motion: (_state, { reducedMotion }) => ({ reducedMotion }),
  speed: (_state, { speed }) => ({ speed }),
  problem: (_state, { problem }) => ({ problem, held: false, opening: false, branching: null }),
  here: (_state, { here }) => ({ here }),
  hold: (_state, { held }) => ({ held, problem: null }),

  /** The position of the new run in the queue; null if it is not queued. */
  waits: (_state, { waits }) => ({ waits }),

  connection: (_state, { connected }) => ({ connected }),
  /** Steps that arrived together when the connection was back; 0 after the page has said so for a while. */
  caughtUp: (_state, { steps }) => ({ caughtUp: steps }),

  /** The run cannot be loaded: it is removed, and the reason is shown. */
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
  opened: (
    state,
    { run, playing, view = initialState.selection.view, focus = lasting(state.selection.focus), insteadOf = null },
  ) => ({
    run,
    changing: changingFor(state.changing, run.id),
    insteadOf,
    asking: false,
    connected: true,
    caughtUp: 0,
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
    selection: { ...initialState.selection, view, focus: focusAfter(state, { focus }) },
    headChosen: false,
  }),
  /** Following jumps to a new step at once. A playhead that waited for a step stops waiting. */
  grew: (state) => {
    const grown = { ...state, ...(state.following ? newest(state) : {}) };
    const { step, progress } = grown;
    return { version: state.version + 1, step, progress, ...stopAtTheEnd(grown) };
  },
  settingsOfRun: ({ edited, sampling, maxNewTokens }, { open }) =>
    edited
      ? {}
      : {
          prompt: open.prompt,
          chat: open.chat,
          sampling: open.sampling ?? sampling,
          maxNewTokens: open.limits?.max_new_tokens ?? maxNewTokens,
        },
  engine: (_state, { paused }) => ({ enginePaused: paused }),
  wanted: (_state, { wanted }) => ({ wanted }),

  tick: (state, { playhead }) => ({ ...playhead, ...stopAtTheEnd({ ...state, ...playhead }) }),
  play: (state) => ({ ...standing, playing: true, ...(atTheEnd(state) ? placed(state, 0, 0) : {}) }),
  pause: (state) => ({ playing: false, following: false, layerStop: null, ...placed(state, placeOf(state), 1) }),
  follow: () => ({ ...standing, playing: true, following: true }),
  seek: (_state, { step }) => ({ ...standing, step, progress: 1 }),
  show: (_state, { step }) => ({ ...standing, step, progress: 0 }),
  /** Shows one moment of the intro, complete or from its beginning. */
  moment: (_state, { moment, progress = 1 }) => ({ ...standing, intro: { moment, progress } }),
  look: (_state, { look }) => ({ look }),
  fastForward: (state) =>
    state.layerStop || inIntro(state)
      ? {}
      : { progress: state.playing ? Math.max(state.progress, sweepEnd(state)) : 1 },
  /** Moves one layer forward or back and stops there. */
  walk: (state, { change }) => walked(state, change),

  select: selected,
  /** As `select`, from the keyboard: the focus moves too. */
  enter: (state, action) => ({ ...selected(state, action), entered: state.entered + 1 }),
  /** Shows a head worth seeing to a viewer who has chosen none. */
  suggest: (state, { layer, head }) => (state.headChosen ? {} : { selection: { ...state.selection, layer, head } }),
  hover: (_state, { hover }) => ({ hover }),
  code: (_state, { open }) => ({ code: open }),
  ended: (state, { run, experiment }) => ({ ended: [...state.ended, { run, experiment }] }),
  ...CHANGING,
  original: (_state, { original }) => ({ original }),
  lit: (_state, { names }) => ({ lit: names }),
  point: (_state, { names }) => ({ pointed: names }),
};

/** @returns {Object} the next state. @throws {RangeError} for an unknown action */
export function reduce(state, action) {
  return derive(changed(REDUCERS, state, action));
}

/** Derived state: values within the run's bounds, layers shown, phase. */
function derive(state) {
  const { run } = state;
  const last = Math.max(0, (run?.steps.length ?? 0) - 1);
  const step = clamp(state.step, 0, last);
  const layers = run?.layers ?? 0;
  const atOnce = state.reducedMotion || (run && isInherited(run, step));
  const moving = atOnce ? layers : revealAt(state.progress, layers, msOf(run, step));
  const reveal = state.layerStop ?? moving;
  const moment = clamp(state.intro.moment, 0, momentsOf(state).length - 1);
  const intro = moment === state.intro.moment ? state.intro : { ...state.intro, moment };
  const bounded = { ...state, step, intro, reveal, selection: clampSelection(state.selection, run) };
  return { ...bounded, ...sweptSteps(bounded), phase: phaseOf(bounded) };
}

const msOf = (run, step) => run?.steps[step]?.data.ms;

/** @returns {number} the progress at which all layers of the current step are shown */
function sweepEnd({ run, step }) {
  return sweepShare(msOf(run, step), run?.layers ?? 0);
}

/** @param {Object} state @param {{selection: Object, chosen?: boolean}} action `chosen`: false if the page keeps the head of another run */
function selected(state, { selection, chosen = true }) {
  // What the effects view measures is of one step: playback would go on to the next.
  const stops = selection.view === EFFECTS && state.selection.view !== EFFECTS;
  const isOfHead = ["layer", "head"].some((name) => selection[name] !== undefined);
  return {
    ...(stops ? REDUCERS.pause(state) : {}),
    selection: { ...state.selection, ...selection, focus: focusAfter(state, selection) },
    headChosen: state.headChosen || (chosen && isOfHead),
  };
}

function walked({ run, step, layerStop, selection }, change) {
  if (!run?.steps.length) return {};
  const at = walk({ step, layerStop }, change, { steps: run.steps.length, layers: run.layers });
  const progress = at.layerStop ? progressAt(at.layerStop, run.layers, msOf(run, at.step)) : 1;
  const layer = at.layerStop ? at.layerStop - 1 : run.layers - 1;
  return { ...standing, ...at, progress, selection: { ...selection, layer }, headChosen: true };
}

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

function clampSelection(selection, run) {
  if (!run?.open) return selection;
  const { layer, head, query, key } = selection;
  const bounded = { ...selection, layer: clamp(layer, 0, run.layers - 1), head: clamp(head, 0, run.heads - 1) };
  if (run.positions) {
    // The log has no attention for rows that were read from the cache.
    bounded.query = query === null ? null : clamp(query, run.reused, run.positions - 1);
    bounded.key = key === null ? null : clamp(key, 0, bounded.query ?? run.positions - 1);
  }
  const isSame = Object.keys(bounded).every((name) => bounded[name] === selection[name]);
  return isSame ? selection : bounded;
}

/** Whether the playhead is at the end of a closed run, or of the intro. */
function atTheEnd(state) {
  if (inIntro(state)) return introIsOver(state);
  const { run, step, progress } = state;
  return Boolean(run?.close) && step >= run.steps.length - 1 && progress >= 1;
}

const placeOf = (state) => (inIntro(state) ? state.intro.moment : state.step);

/** The current playhead: of the intro's moments, or of the run's steps. */
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
