/** Pauses, resumes, steps and stops the current run in the engine. Pausing with the player affects only runs of this tab. */

const OWNED_KEY = "kvscope.owned-run";

/**
 * @param {Object} parts
 * @param {Object} parts.store
 * @param {Object} parts.client
 * @param {{getItem: Function, setItem: Function}} parts.storage remembers across reloads which run this tab started, because the player pauses only that one in the engine
 */
export function createEngine({ store, client, storage }) {
  const { dispatch, state } = store;
  let requests = Promise.resolve();

  const grows = () => Boolean(state().run?.grows);
  const owned = () => storage.getItem(OWNED_KEY) === state().run?.id;
  const pausedByUs = () => grows() && owned() && state().enginePaused;

  /** Requests are sent one after another, in the order of the button presses. */
  const control = (action) => {
    const { run } = state();
    dispatch({ type: "engine", paused: action === "pause" || action === "step" });
    requests = requests
      .then(() => client.control(run.id, action))
      .catch((problem) => {
        if (!run.close && state().run === run) dispatch({ type: "problem", problem });
      });
  };

  return {
    control,

    /** The engine still computes the current run. */
    grows,

    /** This tab has started a run. */
    own: (id) => storage.setItem(OWNED_KEY, id),

    /** Finds out whether somebody paused this run before the page opened it. */
    async askWhetherPaused(id) {
      const { status } = await client.status(id).catch(() => ({}));
      if (status === "paused" && state().run?.id === id) dispatch({ type: "engine", paused: true });
    },

    pauseOwn() {
      if (grows() && owned() && !state().enginePaused) control("pause");
    },

    resume() {
      if (grows() && state().enginePaused) control("resume");
    },

    /** A run that its viewer paused and then left would occupy its place in the engine forever. */
    leave() {
      if (pausedByUs()) control("stop");
    },

    /** Resumes the viewer's own paused run when they open a branch or relative of it, so that it is complete when they return. */
    letGoOn() {
      if (pausedByUs()) control("resume");
    },
  };
}
