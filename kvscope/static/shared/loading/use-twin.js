/** Shows a twin of a run: one that the server has, or a new one. */

import { useCallback, useState } from "preact/hooks";
import { twinAmong } from "../facts/twins.js";
import { Run } from "../log/run.js";
import { useFamily } from "./use-family.js";
import { useLog } from "./use-log.js";

const makeRun = (id) => new Run(id);

/**
 * Loads the family of `run` when it has ended: a running one has no twins.
 *
 * @returns {Object[]|null} null: not known yet
 */
export function useConnected(client, run) {
  return useFamily(client, run.close ? run : null)?.runs ?? null;
}

/**
 * @param {{client: Object, run: Object, connected: Object[]|null, cache: "none"|"forgotten"}} props
 * @returns {{log: Run|null, starting: boolean, problem: Error|null, start: () => void, stop: () => void}}
 *   `log` grows in place; null until its first frame
 */
export function useTwin({ client, run, connected, cache }) {
  const [own, setOwn] = useState({ id: null, starting: false, problem: null });
  const id = own.id ?? (connected ? twinAmong(connected, run.id, { cache }) : null);
  const watched = useLog(client, id, makeRun);
  const start = useCallback(async () => {
    setOwn({ id: null, starting: true, problem: null });
    try {
      const twin = await client.twin(run.id, { cache });
      setOwn({ id: twin.id, starting: false, problem: null });
    } catch (problem) {
      setOwn({ id: null, starting: false, problem });
    }
  }, [client, run.id, cache]);
  const stop = useCallback(async () => {
    try {
      await client.control(id, "stop");
    } catch (problem) {
      // The twin may have ended just before.
      setOwn((before) => ({ ...before, problem: problem.status === 409 ? null : problem }));
    }
  }, [client, id]);
  return { log: watched.log, starting: own.starting, problem: own.problem ?? watched.problem, start, stop };
}
