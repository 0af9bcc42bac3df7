/** Reports that a twin or a beam search has ended, so that a lesson's task can require it. */

import { useEffect } from "preact/hooks";

const WHOLE = ["eos", "length"];

/**
 * Dispatches `ended` once the log of an experiment has ended.
 *
 * @param {Function} dispatch
 * @param {{run: string, experiment: "none"|"forgotten"|"beam", log: Object|null}} props `run`: the id of the original run;
 *   `log`: of the experiment; null: it has not started
 */
export function useEnded(dispatch, { run, experiment, log }) {
  const ended = WHOLE.includes(log?.close?.reason);
  useEffect(() => {
    if (ended) dispatch({ type: "ended", run, experiment });
  }, [dispatch, run, experiment, ended]);
}
