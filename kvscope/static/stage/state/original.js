/** Watches the original of the shown changed run beside it. */

import { Run } from "../../shared/log/run.js";

/** @typedef {{id: string, run: Run|null, problem: Error|null, version: number}} Original `run` grows in place; null until it is open */

/**
 * @param {{store: Object, client: Object}} parts
 * @returns {() => void} stops watching
 */
export function followOriginal({ store, client }) {
  const { dispatch } = store;
  let watched = null;
  let stop = () => {};

  const begin = (id) => {
    const run = new Run(id);
    const onGrown = () =>
      dispatch({ type: "original", original: { id, run, problem: null, version: run.tokens.length } });
    stop = client.watch(id, -1, {
      onFrame(frame) {
        run.push(frame);
        if (frame.kind !== "layer") onGrown();
      },
      onConnection() {},
      onProblem: (problem) => dispatch({ type: "original", original: { id, run: null, problem, version: 0 } }),
    });
  };

  const look = ({ run, original }) => {
    const id = run?.open && !run.saved ? (run.open.changed?.of ?? null) : null;
    if (id === watched) return;
    watched = id;
    stop();
    stop = () => {};
    if (original) dispatch({ type: "original", original: null });
    if (id) begin(id);
  };
  look(store.state());
  const unsubscribe = store.subscribe(look);
  return () => {
    unsubscribe();
    stop();
  };
}
