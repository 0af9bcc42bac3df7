/** What the page asks of the engine about the run in sight: to pause, resume, step, stop. Only a run of one's own is held up or let go. */

const OWNED_KEY = "kvscope.owned-run";

/**
 * @param {Object} parts
 * @param {Object} parts.store
 * @param {Object} parts.client
 * @param {{getItem: Function, setItem: Function}} parts.storage remembers over a reload which run this tab started: only that one's engine is paused
 */
export function createEngine({ store, client, storage }) {
  const { dispatch, state } = store;
  let requests = Promise.resolve();

  const grows = () => Boolean(state().run?.grows);
  const owned = () => storage.getItem(OWNED_KEY) === state().run?.id;
  const pausedByUs = () => grows() && owned() && state().enginePaused;

  /** Requests go one after another, in the order in which the buttons were pressed. */
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

    /** The run in sight is still being computed. */
    grows,

    /** This tab has started a run. */
    own: (id) => storage.setItem(OWNED_KEY, id),

    /** Whether somebody paused the engine on this run before we came. */
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

    /** A run that its viewer paused and then left would keep its place in the engine for ever. */
    leave() {
      if (pausedByUs()) control("stop");
    },

    /** One's own paused run goes on to its end when a branch or a relative of it is looked at: one may come back to it. */
    letGoOn() {
      if (pausedByUs()) control("resume");
    },
  };
}
