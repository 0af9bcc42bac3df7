/** Polls the server until the model is ready. */

import { msg } from "../words/msg.js";
import { createPolling } from "./polling.js";

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
 * @returns {ReturnType<typeof createPolling>}
 */
export function createReadiness({ store, client, delay, onReady }) {
  const { dispatch, state } = store;
  let readiness = { state: "" };

  const ask = async () => {
    readiness = await client.readiness().catch(() => ({ state: "unreachable" }));
    dispatch({ type: "readiness", readiness });
  };

  const decide = () => {
    if (readiness.state === "ready") onReady();
    if (readiness.state === "ready" || LASTING.includes(readiness.state)) return null;
    if (readiness.state !== "failed") return POLL_MS;
    if (state().held) dispatch({ type: "problem", problem: modelFailed(readiness) });
    return SLOW_POLL_MS;
  };

  const polling = createPolling({ ask, decide, delay });
  return {
    ...polling,
    poll() {
      if (!state().file) polling.poll();
    },
  };
}

/** @returns {{title: string, detail: string}} the problem of a model that could not be loaded */
export function modelFailed(readiness) {
  return { title: msg`The model could not be loaded`, detail: readiness.message };
}
