/** How far the model's loading is: asked of the server until it is ready. */

const POLL_MS = 400;
const FAILED_POLL_MS = 3000;

/**
 * @param {Object} parts
 * @param {Object} parts.store
 * @param {Object} parts.client
 * @param {(ms: number) => Promise<void>} parts.delay
 * @param {() => void} parts.onReady the model is ready
 * @returns {{poll: () => void, dispose: () => void}} `poll` asks from now on, unless it does already
 */
export function createReadiness({ store, client, delay, onReady }) {
  const { dispatch, state } = store;
  let polling = false;
  let disposed = false;

  const poll = async () => {
    if (polling || state().file) return;
    polling = true;
    while (!disposed) {
      const readiness = await client.readiness().catch(() => ({ state: "unreachable" }));
      dispatch({ type: "readiness", readiness });
      if (readiness.state === "ready") break;
      if (readiness.state === "failed" && state().held) dispatch({ type: "problem", problem: modelFailed(readiness) });
      await delay(readiness.state === "failed" ? FAILED_POLL_MS : POLL_MS);
    }
    polling = false;
    if (!disposed) onReady();
  };

  return {
    poll,
    dispose() {
      disposed = true;
    },
  };
}

/** @returns {{title: string, detail: string}} the problem of a model that could not be loaded */
export function modelFailed(readiness) {
  return { title: "The model could not be loaded", detail: readiness.message };
}
