/** The result of an experiment, also while the page shows another log. */

import { useMemo, useRef } from "preact/hooks";
import { useLog } from "../../shared/loading/use-log.js";
import { resultOf } from "../results.js";
import { Workload } from "../workload-log.js";

/** For `useLog`. */
const makeLog = (id) => new Workload(id);

/** @param {import("../workload-log.js").Workload|null} log  @returns {import("../results.js").Result|null} after each of its rounds */
export function useResultOf(log) {
  const over = log?.rounds.filter(({ end }) => end).length ?? 0;
  return useMemo(() => (log?.study ? resultOf(log) : null), [log, over]);
}

/**
 * @param {Object} client
 * @param {string|null} id of the experiment's log
 * @param {import("../workload-log.js").Workload|null} inSight
 * @param {import("../results.js").Result|null} seen the result of the log in sight
 * @returns {import("../results.js").Result|null}
 */
export function useResult(client, id, inSight, seen) {
  const shown = inSight?.id === id;
  const { log: own } = useLog(client, shown ? null : id, makeLog);
  const ownResult = useResultOf(shown ? null : own);
  const result = shown ? seen : ownResult;
  const last = useRef(null);
  // The last known result, until the log is loaded again.
  if (result) last.current = result;
  return last.current?.run === id ? last.current : null;
}
