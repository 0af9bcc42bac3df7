/**
 * What the page does: opens runs, starts them, and turns the player's buttons into playhead moves and control requests.
 * The store holds all state; this is where actions meet the network.
 */

import { Run } from "./contract/run.js";
import { branchRefusal, chosenPosition } from "./model/branching.js";
import { reasonOfClose } from "./model/endings.js";
import { tellingHead } from "./model/first-look.js";
import { requestProblem } from "./model/run-request.js";
import { openingOf } from "./model/saved-run.js";

const READINESS_POLL_MS = 400;
const FAILED_POLL_MS = 3000;
/** A study's log has no run of its own to show: its link leads to the run it is of, and to the view that shows it. */
const STUDY_VIEWS = { twin: "cache", beam: "tokens" };
const OWNED_KEY = "kvscope.owned-run";
const NO_BRANCH = "The branch could not be started";

/** Which head a link means can be shown as soon as its run is open; the rest of it has to be there first. */
function placeOf({ layer, head, step, query, key }) {
  const named = (place) => Object.fromEntries(Object.entries(place).filter(([, number]) => number !== undefined));
  return { head: named({ layer, head }), rest: named({ step, query, key }) };
}

/**
 * @param {Object} parts
 * @param {Object} parts.store
 * @param {Object} parts.client
 * @param {Object|null} parts.saved the saved session that the page was opened with: {id, run, title, notes, open}
 * @param {Storage} parts.storage remembers over a reload which run this tab started: only that one's engine is paused
 * @param {(ms: number) => Promise<void>} parts.delay
 */
export function createSession({ store, client, saved = null, storage, delay }) {
  const { dispatch, state } = store;
  let stopWatching = () => {};
  let polling = false;
  let disposed = false;
  let controls = Promise.resolve();

  const pollReadiness = async () => {
    if (polling || state().file) return;
    polling = true;
    while (!disposed) {
      const readiness = await client.readiness().catch(() => ({ state: "unreachable" }));
      dispatch({ type: "readiness", readiness });
      if (readiness.state === "ready") break;
      if (readiness.state === "failed" && state().held) dispatch({ type: "problem", problem: modelFailed(readiness) });
      await delay(readiness.state === "failed" ? FAILED_POLL_MS : READINESS_POLL_MS);
    }
    polling = false;
    if (!disposed && state().held) start();
  };

  /**
   * @param {{playing: boolean, visited: boolean, view?: string, insteadOf?: string, link?: Object}} how `visited`: it was
   *   not started here just now; `link`: the step and selection to come back to; `view`: what to open where the link does
   *   not say; `insteadOf`: the study whose link led here
   */
  const open = (id, { playing, visited, view, insteadOf, link = {} }) => {
    stopWatching();
    const run = new Run(id, id === saved?.run ? saved : null);
    dispatch({ type: "opened", run, playing, view: link.view ?? view, insteadOf });
    const { head, rest } = placeOf(link);
    let waiting = Object.keys(rest).length > 0;
    let atOpening = null;
    const onOpen = (open) => {
      dispatch({ type: "settingsOfRun", open });
      applyLink(head);
      atOpening = state().selection;
      if (visited && !run.saved) askWhetherPaused(id);
    };
    /** Neither the link nor anybody since has chosen a head. */
    const unchosen = () =>
      Object.keys(head).length === 0 && ["layer", "head"].every((name) => state().selection[name] === atOpening[name]);
    /** Where a viewer has gone meanwhile is not where a link wanted to go. */
    const isWhereItOpened = () => {
      const now = state();
      const stands = now.playing === playing && !now.following && (playing || now.step === 0);
      return stands && ["query", "key"].every((name) => now.selection[name] === atOpening[name]);
    };
    const settle = () => {
      waiting &&= isWhereItOpened();
      if (!waiting) return;
      const there = run.steps.length > (link.step ?? 0) && run.positions > Math.max(link.query ?? 0, link.key ?? 0);
      if (!there && !run.close) return;
      waiting = false;
      applyLink(rest);
      // A step that was asked for is where it plays from, not where it stays.
      if (playing && link.step !== undefined) dispatch({ type: "play" });
    };
    stopWatching = client.watch(id, -1, {
      onFrame(frame) {
        const study = frame.kind === "open" ? frame.data.study : null;
        if (study) {
          session.visit(study.of, { view: STUDY_VIEWS[study.kind], ...link }, id);
          return;
        }
        const rows = run.partialRows;
        run.push(frame);
        if (frame.kind === "layer" && !(run.awaited && run.partialRows > rows)) return;
        dispatch({ type: "grew" });
        if (frame.kind === "open") onOpen(frame.data);
        if (frame.kind === "step") onStep(run, unchosen);
        if (frame.kind === "close") onClose(run);
        settle();
      },
      onConnection: (connected) => {
        if (connected !== state().connected) dispatch({ type: "connection", connected });
      },
      onProblem: (problem) => dispatch({ type: run.saved && run.steps.length ? "problem" : "unwatchable", problem }),
    });
  };

  const onStep = (run, unchosen) => {
    if (run.steps.length === 1 && unchosen()) {
      const head = tellingHead(run);
      if (head) dispatch({ type: "select", selection: head });
    }
    if (state().wanted && state().step < run.steps.length - 1) dispatch({ type: "show", step: state().step + 1 });
  };

  const onClose = (run) => {
    const problem = reasonOfClose(run);
    if (!problem) return;
    dispatch({ type: "problem", problem });
    pollReadiness();
  };

  const applyLink = ({ step, ...selection }) => {
    if (Object.keys(selection).length) dispatch({ type: "select", selection });
    if (step !== undefined) dispatch({ type: "seek", step });
  };

  /** A run that its viewer paused and then left would keep its place in the engine for ever. */
  const leaveEngine = () => {
    if (grows() && owned() && state().enginePaused) control("stop");
  };

  /** One's own paused run goes on to its end when a branch or a relative of it is looked at: one may come back to it. */
  const letGoOn = () => {
    if (grows() && owned() && state().enginePaused) control("resume");
  };

  /** Whether somebody paused the engine on this run before we came. */
  const askWhetherPaused = async (id) => {
    const { status } = await client.status(id).catch(() => ({}));
    if (status === "paused" && state().run?.id === id) dispatch({ type: "engine", paused: true });
  };

  const start = async () => {
    const { prompt, chat, maxNewTokens, sampling } = state();
    dispatch({ type: "opening" });
    leaveEngine();
    try {
      const { id } = await client.start({ prompt, chat, max_new_tokens: maxNewTokens, ...sampling });
      storage.setItem(OWNED_KEY, id);
      if (!disposed) open(id, { playing: true, visited: false, view: state().selection.view });
    } catch (problem) {
      if (problem.status === 503) hold();
      else dispatch({ type: "problem", problem });
    }
  };

  const hold = () => {
    dispatch({ type: "hold", held: true });
    pollReadiness();
  };

  /** Control requests go one after another, in the order in which the buttons were pressed. */
  const control = (action) => {
    const { run } = state();
    dispatch({ type: "engine", paused: action === "pause" || action === "step" });
    controls = controls
      .then(() => client.control(run.id, action))
      .catch((problem) => {
        if (!run.close && state().run === run) dispatch({ type: "problem", problem });
      });
  };

  const lookedAt = () => {
    const { layer, head, view } = state().selection;
    return { layer, head, view };
  };

  const grows = () => Boolean(state().run) && state().run.grows;
  const last = () => (state().run?.steps.length ?? 0) - 1;
  const owned = () => storage.getItem(OWNED_KEY) === state().run?.id;

  const session = {
    /** Shows a run from the start, without waiting for the model, and follows the model's loading. */
    begin(id, link) {
      const named = Object.keys(link).length > 0;
      if (id) session.visit(id, id === saved?.run && !named ? openingOf(saved) : link);
      pollReadiness();
    },

    /** Shows the saved run where its sharer meant it to open, but for what `link` says otherwise. */
    beginEmbedded(link, autoplay) {
      open(saved.run, { playing: autoplay, visited: true, link: { ...openingOf(saved), ...link } });
      pollReadiness();
    },

    applyLink,

    /** Shows a run that is already there: from its start, or at the step the link names. `insteadOf`: as in `open`. */
    visit(id, link = {}, insteadOf = null) {
      open(id, { playing: link.step === undefined, visited: true, insteadOf, link });
    },

    /** Shows a run of the same family at a step, with the same view of the same head. */
    visitRelative(id, step) {
      letGoOn();
      session.visit(id, { step, ...lookedAt() });
    },

    /** Starts a branch: the same run up to the step in sight, with `token` in place of the one that step chose. */
    async branch(token) {
      const { run, step, branching } = state();
      if (branching) return;
      const refusal = branchRefusal(run, step, token);
      if (refusal) return dispatch({ type: "problem", problem: { title: NO_BRANCH, detail: refusal } });
      dispatch({ type: "branching", token });
      try {
        const { id } = await client.fork(run.id, { position: chosenPosition(run, step), token: token.id });
        if (disposed || state().run !== run) return;
        letGoOn();
        storage.setItem(OWNED_KEY, id);
        open(id, { playing: false, visited: false, link: { step, ...lookedAt() } });
      } catch ({ detail, title, retryAfter }) {
        if (state().run !== run) return;
        dispatch({ type: "problem", problem: { title: NO_BRANCH, detail: detail || title, retryAfter } });
      }
    },

    /** Starts a run with the prompt and settings of the page, now or as soon as the model is ready. */
    submit() {
      const { readiness, limits, opening } = state();
      const problem = requestProblem(state(), limits);
      if (opening) return;
      if (problem) dispatch({ type: "problem", problem });
      else if (readiness.state === "failed") dispatch({ type: "problem", problem: modelFailed(readiness) });
      else if (readiness.state === "ready") start();
      else hold();
    },

    play() {
      dispatch({ type: "play" });
      if (grows() && state().enginePaused) control("resume");
    },

    pause() {
      dispatch({ type: "pause" });
      if (grows() && owned() && !state().enginePaused) control("pause");
    },

    toggle() {
      if (state().playing) session.pause();
      else session.play();
    },

    next() {
      const { step } = state();
      if (step < last()) dispatch({ type: "show", step: step + 1 });
      else if (grows()) {
        dispatch({ type: "wanted", wanted: true });
        if (state().enginePaused) control("step");
      }
    },

    previous: () => dispatch({ type: "seek", step: state().step - 1 }),
    first: () => dispatch({ type: "seek", step: 0 }),
    last: () => dispatch({ type: "seek", step: last() }),

    stop: () => control("stop"),

    /** Keeps the playhead at the newest step of a run that is still growing, or lets it walk at its own pace again. */
    follow() {
      dispatch({ type: state().following ? "play" : "follow" });
      if (grows() && state().enginePaused) control("resume");
    },

    dispose() {
      disposed = true;
      stopWatching();
    },
  };
  return session;
}

function modelFailed(readiness) {
  return { title: "The model could not be loaded", detail: readiness.message };
}
