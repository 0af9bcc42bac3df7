/** The result of an experiment, also while the page shows another log. */

import { useMemo, useRef } from "preact/hooks";
import { useLog } from "../../shared/loading/use-log.js";
import { resultOf } from "../results.js";
import { Workload } from "../workload-log.js";

/** For `useLog`. */
const makeLog = (id) => new Workload(id);

/**
 * @param {Object} client
 * @param {string|null} id of the experiment's log
 * @param {import("../workload-log.js").Workload|null} inSight
 * @returns {import("../results.js").Result|null}
 */
export function useResult(client, id, inSight) {
  const shown = inSight?.id === id;
  const { log: own } = useLog(client, shown ? null : id, makeLog);
  const log = shown ? inSight : own;
  const over = log?.rounds.filter(({ end }) => end).length ?? 0;
  const last = useRef(null);
  const result = useMemo(() => (log?.study ? resultOf(log) : null), [log, over]);
  // The last known result, until the log is loaded again.
  if (result) last.current = result;
  return last.current?.run === id ? last.current : null;
}
