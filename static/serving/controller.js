/** What the page of serving does by itself: watches the log that is to be seen, opens it at a pass, asks how far the model is. */

import { Workload } from "../shared/log/workload.js";
import { createReadiness } from "../shared/state/readiness.js";
import { openingPass } from "./state.js";

/** What already stood in the log comes in less of the time that it took to be made. */
const READ_SHARE = 0.6;

/**
 * @param {Object} parts
 * @param {Object} parts.store
 * @param {Object} parts.client
 * @param {(ms: number) => Promise<void>} parts.delay
 * @param {string|null} parts.example the recorded workload that is in sight where the address names none
 * @param {boolean} parts.still somebody wants things to stand still
 * @param {() => number} parts.now ms
 */
export function createServing({ store, client, delay, example, still, now }) {
  const { dispatch, state } = store;
  const readiness = createReadiness({ store, client, delay, onReady() {} });
  let stopWatching = () => {};

  /** Where a log that nobody has moved in yet opens once it is over. */
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
     * @param {string|null} run the workload to be seen; null: the recorded one
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
          dispatch({ type: "grew", log });
          if (log.close && !wasOver) settle(log, began);
        },
        onConnection() {},
        onProblem: (problem) => dispatch({ type: "missing", problem }),
      });
    },
  };
}
