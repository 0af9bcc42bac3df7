/**
 * Opens and starts runs, and turns the player's buttons into moves of the playhead and control requests. All state is in the
 * store; this module connects it with the network.
 */

import { branchRefusal, chosenPosition } from "../../shared/facts/branching.js";
import { openingOf } from "../../shared/facts/saved-session.js";
import { inIntro, momentsOf } from "../../shared/state/intro.js";
import { createReadiness, modelFailed } from "../../shared/state/readiness.js";
import { msg } from "../../shared/words/msg.js";
import { chosenModel, nextReadiness } from "../facts/models.js";
import { createModelPolling } from "./model-polling.js";
import { createOpening } from "./opening.js";
import { followOriginal } from "./original.js";
import { createRunControl } from "./run-control.js";
import { computesHere, requestProblem } from "./run-request.js";

const NO_BRANCH = msg`The branch could not be started`;
const GONE = {
  title: msg`This run is gone`,
  detail: msg`It was computed on this device, inside a page that has been closed or loaded again, or it was deleted. Nothing else stored it.`,
};

/**
 * @param {Object} parts
 * @param {Object} parts.store
 * @param {Object} parts.client
 * @param {Object|null} parts.saved the saved session that the page was opened with: {id, run, title, notes, open}
 * @param {{getItem: Function, setItem: Function}} parts.storage as in `createRunControl`
 * @param {(ms: number) => Promise<void>} parts.delay
 */
export function createController({ store, client, saved = null, storage, delay }) {
  const { dispatch, state } = store;
  let disposed = false;

  const control = createRunControl({ store, client, storage });
  const readiness = (state().severalModels ? createModelPolling : createReadiness)({
    store,
    client,
    delay,
    onReady: () => {
      if (state().held) start();
    },
  });
  const {
    open,
    applyLink,
    dispose: stopWatching,
  } = createOpening({
    store,
    client,
    saved,
    onStudy: (run, link, study) => visit(run, link, study),
    onVisited: control.askWhetherPaused,
    onFailed: readiness.poll,
    onGone(run) {
      const first = saved?.run ?? state().examples[0]?.id;
      if (first) visit(first, saved ? openingOf(saved) : {}, run);
      dispatch({ type: first ? "problem" : "unwatchable", problem: GONE });
    },
    onOpened() {
      if (state().severalModels) readiness.poll();
    },
  });

  const stopOriginal = followOriginal({ store, client });

  const visit = (id, link = {}, insteadOf = null) => {
    // The intro does not start by itself.
    const playing = link.step === undefined && link.view !== "intro";
    open(id, { playing, visited: true, insteadOf, link });
  };

  const start = async () => {
    const { prompt, chat, maxNewTokens, sampling, reuse } = state();
    dispatch({ type: "opening" });
    control.stopPaused();
    try {
      const model = chosenModel(state())?.name;
      const { id } = await client.start({ prompt, chat, max_new_tokens: maxNewTokens, ...sampling, reuse, model });
      control.own(id);
      const { selection, headChosen } = state();
      const { layer, head, view, focus } = selection;
      if (!disposed)
        open(id, { playing: true, visited: false, view, link: headChosen ? { layer, head, focus } : { focus } });
    } catch (problem) {
      if (problem.status === 503) hold();
      else dispatch({ type: "problem", problem });
    }
  };

  /** Loads the model on this device; `then` is called when it has begun. */
  const loadHere = async (then, load = client.here.load) => {
    try {
      await load();
      then();
    } catch (problem) {
      dispatch({ type: "problem", problem });
    }
  };

  /** Stops loading on this device, or the model that computes there; the next runs are not of this device, where there is another. */
  const leaveHere = async () => {
    dispatch({ type: "here", here: false });
    await client.here.cancel().catch(() => {});
    readiness.poll();
  };

  const hold = () => {
    dispatch({ type: "hold", held: true });
    readiness.poll();
  };

  const startBranch = async (run, step, token) => {
    dispatch({ type: "branching", token });
    try {
      const { id } = await client.fork(run.id, { position: chosenPosition(run, step), token: token.id });
      if (disposed || state().run !== run) return;
      control.resumeOwn();
      control.own(id);
      open(id, { playing: false, visited: false, ...beside(step) });
    } catch ({ detail, title, retryAfter }) {
      if (state().run !== run) return;
      dispatch({ type: "problem", problem: { title: NO_BRANCH, detail: detail || title, retryAfter } });
    }
  };

  const startChanged = async () => {
    const { run, changing } = state();
    // Where the changes begin: at a later step the texts differ too.
    const step = Math.min(...changing.changes.map(({ from_step: from }) => from ?? 0));
    dispatch({ type: "changeSent" });
    try {
      const { id } = await client.change(changing.of, { changes: changing.changes });
      control.own(id);
      if (disposed || state().changing?.of !== changing.of) return;
      dispatch({ type: "changeStarted", run: id });
      if (state().run !== run) return;
      control.resumeOwn();
      open(id, { playing: false, visited: false, ...beside(step) });
    } catch (problem) {
      if (state().changing?.of === changing.of) dispatch({ type: "changeRefused", problem });
    }
  };

  /** How a run of the same text is opened at a step: in the same view, with the same selection. */
  const beside = (step) => {
    const { selection, headChosen: chosen } = state();
    const there = Object.entries(selection).filter(([, value]) => value !== null);
    return { link: { step, ...Object.fromEntries(there) }, chosen };
  };

  const last = () => (state().run?.steps.length ?? 0) - 1;
  const lastMoment = () => momentsOf(state()).length - 1;
  /** While the intro is shown, the playhead's controls move the intro. */
  const either = (moveMoment, moveStep) => () => (inIntro(state()) ? moveMoment(state().intro) : moveStep(state()));

  const play = () => {
    dispatch({ type: "play" });
    control.resume();
  };

  const pause = () => {
    dispatch({ type: "pause" });
    control.pauseOwn();
  };

  return {
    /** Shows a run from the start, without waiting for the model, and follows the model's loading. */
    begin(id, link) {
      const named = Object.keys(link).length > 0;
      if (id) visit(id, id === saved?.run && !named ? openingOf(saved) : link);
      readiness.poll();
    },

    /** Shows the saved run at the step and selection that its author chose; `link` overrides them. One that is being computed is followed. */
    beginEmbedded(link, autoplay) {
      open(saved.run, { playing: autoplay, visited: true, link: { ...openingOf(saved), ...link } });
      if (saved.live) dispatch({ type: "follow" });
      readiness.poll();
    },

    applyLink,

    /** Shows an existing run: from its start, or at the step in the link. `insteadOf`: as in `createOpening`. */
    visit,

    /** Shows a run of the same family at a step, with the same view of the same head. */
    visitRelative(id, step) {
      control.resumeOwn();
      open(id, { playing: false, visited: true, ...beside(step) });
    },

    /** Starts a branch: the same run up to the current step, with `token` instead of the token that the step chose. */
    async branch(token) {
      const { run, step, branching } = state();
      if (branching) return;
      const refusal = branchRefusal(run, step, token);
      if (refusal) return dispatch({ type: "problem", problem: { title: NO_BRANCH, detail: refusal } });
      return startBranch(run, step, token);
    },

    /** Starts a run with the changes that were composed, and shows it at the same step. */
    async change() {
      const { changing } = state();
      if (changing?.changes.length && !changing.busy) await startChanged();
    },

    /** Continues a run that broke off with its engine, in a new run that begins with its log. */
    continueRun() {
      const { run } = state();
      const step = run.steps.length - 1;
      return startBranch(run, step, run.steps[step].data.token);
    },

    /** Starts a run with the prompt and settings of the page, now or as soon as the model is ready. */
    submit() {
      const { limits, opening } = state();
      const model = nextReadiness(state());
      const problem = requestProblem(state(), limits);
      if (opening) return;
      if (problem) dispatch({ type: "problem", problem });
      else if (model.state !== "ready" && computesHere(state())) loadHere(hold);
      else if (model.state === "failed") dispatch({ type: "problem", problem: modelFailed(model) });
      else if (["ready", "unloaded"].includes(model.state)) start();
      else hold();
    },

    /** The run no longer waits for its model. If that is loading on this device, it stops. */
    async cancelWaiting() {
      dispatch({ type: "hold", held: false });
      if (computesHere(state())) await leaveHere();
    },

    /** Loads the model on this device, without a run. */
    loadModelHere: () => loadHere(readiness.poll),

    /** Computes the run that waits for a server, and the next ones, on this device. */
    async runHere() {
      const { waits } = state();
      dispatch({ type: "here", here: true });
      if (waits) client.remove(waits.id).catch(() => {});
      await loadHere(hold);
    },

    /** Computes the next runs with a visitor's GGUF file, on this device, and opens the form, which says so. */
    useModelFile(file) {
      dispatch({ type: "here", here: true });
      dispatch({ type: "ask", asking: true });
      return loadHere(readiness.poll, () => client.here.use(file));
    },

    /** Computes with the model of this page again. */
    forgetModelFile: leaveHere,

    /** Looks again which models are loaded. */
    followModels() {
      readiness.poll();
    },

    /** Loads a model before its first run. */
    async loadModel(name) {
      try {
        await client.loadModel(name);
      } catch (problem) {
        dispatch({ type: "problem", problem });
      }
      readiness.poll();
    },

    play,
    pause,
    toggle: () => (state().playing ? pause() : play()),

    next: either(
      ({ moment }) => moment < lastMoment() && dispatch({ type: "moment", moment: moment + 1, progress: 0 }),
      ({ step }) => {
        if (step < last()) dispatch({ type: "show", step: step + 1 });
        else if (control.grows()) {
          dispatch({ type: "wanted", wanted: true });
          control.step();
        }
      },
    ),
    previous: either(
      ({ moment }) => dispatch({ type: "moment", moment: moment - 1 }),
      ({ step }) => dispatch({ type: "seek", step: step - 1 }),
    ),
    first: either(
      () => dispatch({ type: "moment", moment: 0 }),
      () => dispatch({ type: "seek", step: 0 }),
    ),
    last: either(
      () => dispatch({ type: "moment", moment: lastMoment() }),
      () => dispatch({ type: "seek", step: last() }),
    ),

    stop: control.stop,

    /** Follows the newest step of a growing run, or plays at the chosen speed again. */
    follow() {
      dispatch({ type: state().following ? "play" : "follow" });
      control.resume();
    },

    dispose() {
      disposed = true;
      readiness.dispose();
      stopOriginal();
      stopWatching();
    },
  };
}
