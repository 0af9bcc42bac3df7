/** Watches the log in sight, opens it at a pass, and polls whether the model is ready. */

import { createReadiness } from "../shared/state/readiness.js";
import { openingPass } from "./state.js";
import { Workload } from "./workload-log.js";

/** A log that arrives in less than this share of its duration was complete before the page opened it. */
const READ_SHARE = 0.6;

/**
 * @param {Object} parts
 * @param {Object} parts.store
 * @param {Object} parts.client
 * @param {(ms: number) => Promise<void>} parts.delay
 * @param {string|null} parts.example the recorded workload, shown if the address names none
 * @param {boolean} parts.still the viewer prefers reduced motion
 * @param {() => number} parts.now ms
 */
export function createServing({ store, client, delay, example, still, now }) {
  const { dispatch, state } = store;
  const readiness = createReadiness({ store, client, delay, onReady() {} });
  let stopWatching = () => {};

  /** Opens a finished log at its first position, unless the viewer has moved already. */
  const settle = (log, began) => {
    if (state().mode !== "following" || !log.passes.length) return;
    if (!state().run && !still) {
      dispatch({ type: "play" });
      return;
    }
    const took = log.rounds.reduce((sum, { end }) => sum + (end?.ms ?? 0), 0);
    if (now() - began < READ_SHARE * took) dispatch({ type: "go", to: openingPass(log.passes) });
  };

  return {
    pollReadiness: readiness.poll,

    /**
     * @param {string|null} run the workload; null: the recorded one
     * @param {number|null} [pass] that a link names
     */
    show(run, pass = null) {
      stopWatching();
      dispatch({ type: "open", run, pass });
      const id = run ?? example;
      if (!id) return;
      const log = new Workload(id);
      let began = null;
      stopWatching = client.watch(id, -1, {
        onFrame(frame) {
          began ??= now();
          const wasOver = Boolean(log.close);
          log.push(frame);
          if (frame.kind === "pass") log.received[frame.data.number] = now();
          dispatch({ type: "grew", log });
          if (log.close && !wasOver) settle(log, began);
        },
        onConnection() {},
        onProblem: (problem) => dispatch({ type: "missing", problem }),
      });
    },
  };
}
