/** Says that a twin or a beam search has come to its end, so that the task of a lesson can ask for it. */

import { useEffect } from "preact/hooks";

const WHOLE = ["eos", "length"];

/**
 * @param {Function} dispatch
 * @param {{run: string, experiment: "none"|"forgotten"|"beam", log: Object|null}} props `run`: the id of the run beside which it ran;
 *   `log`: its own, null where there is none
 */
export function useEnded(dispatch, { run, experiment, log }) {
  const ended = WHOLE.includes(log?.close?.reason);
  useEffect(() => {
    if (ended) dispatch({ type: "ended", run, experiment });
  }, [dispatch, run, experiment, ended]);
}
