/** Polls the server until the model is ready. */

import { msg } from "../words/msg.js";

const POLL_MS = 400;
/** Interval after a failed request, in ms. */
const SLOW_POLL_MS = 3000;
/** States that only the viewer changes. */
const LASTING = ["none", "offered"];

/**
 * @param {Object} parts
 * @param {Object} parts.store
 * @param {Object} parts.client
 * @param {(ms: number) => Promise<void>} parts.delay
 * @param {() => void} parts.onReady called when the model is ready
 * @returns {{poll: () => void, dispose: () => void}} `poll` starts polling; while it runs, it asks once more: a model may have begun to load
 */
export function createReadiness({ store, client, delay, onReady }) {
  const { dispatch, state } = store;
  let polling = false;
  let again = false;
  let disposed = false;

  const poll = async () => {
    again = true;
    if (polling || state().file) return;
    polling = true;
    while (!disposed && again) {
      again = false;
      const readiness = await client.readiness().catch(() => ({ state: "unreachable" }));
      dispatch({ type: "readiness", readiness });
      if (readiness.state === "ready") {
        if (!disposed) onReady();
      } else if (!LASTING.includes(readiness.state)) {
        const failed = readiness.state === "failed";
        if (failed && state().held) dispatch({ type: "problem", problem: modelFailed(readiness) });
        again = true;
        await delay(failed ? SLOW_POLL_MS : POLL_MS);
      }
    }
    polling = false;
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
  return { title: msg`The model could not be loaded`, detail: readiness.message };
}
