/**
 * Pauses, resumes, steps and stops the shown run in the engine, if this device started it: whoever opens its link, or follows it in a room,
 * moves only what is shown. The player's Pause button pauses only a run that this tab started.
 */

const OWNED_KEY = "kvscope.owned-run";

/**
 * @param {Object} parts
 * @param {Object} parts.store
 * @param {Object} parts.client
 * @param {{getItem: Function, setItem: Function}} parts.storage remembers, across reloads, which run this tab started
 */
export function createRunControl({ store, client, storage }) {
  const { dispatch, state } = store;
  let requests = Promise.resolve();

  const grows = () => Boolean(state().run?.grows);
  const owned = () => storage.getItem(OWNED_KEY) === state().run?.id;
  const mine = () => client.isMine(state().run.id);
  const pausedByUs = () => grows() && owned() && state().enginePaused;

  /** Sends a control request after the ones before it have been answered. */
  const send = (action) => {
    const { run } = state();
    dispatch({ type: "engine", paused: action === "pause" || action === "step" });
    requests = requests
      .then(() => client.control(run.id, action))
      .catch((problem) => {
        if (!run.close && state().run === run) dispatch({ type: "problem", problem });
      });
  };

  return {
    /** @returns {boolean} whether the engine still computes the shown run */
    grows,

    stop: () => send("stop"),

    /** Computes one more step of a paused run. */
    step() {
      if (state().enginePaused && mine()) send("step");
    },

    /** Remembers that this tab has started a run. */
    own: (id) => storage.setItem(OWNED_KEY, id),

    /** Asks the server whether somebody paused this run before the page opened it. */
    async askWhetherPaused(id) {
      const { status } = await client.status(id).catch(() => ({}));
      if (status === "paused" && state().run?.id === id) dispatch({ type: "engine", paused: true });
    },

    pauseOwn() {
      if (grows() && owned() && !state().enginePaused) send("pause");
    },

    resume() {
      if (grows() && state().enginePaused && mine()) send("resume");
    },

    /** Stops a run that this viewer paused: paused, it would keep its place in the engine forever. */
    stopPaused() {
      if (pausedByUs()) send("stop");
    },

    /** Resumes a run that this viewer paused before a branch or relative of it is opened, so that it is complete when they return. */
    resumeOwn() {
      if (pausedByUs()) send("resume");
    },
  };
}
