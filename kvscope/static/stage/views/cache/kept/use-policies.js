/** The twins of a run that keep only some positions: existing ones on the server, and new ones. */

import { useCallback, useState } from "preact/hooks";
import { twinAmong } from "../../../../shared/facts/twins.js";
import { useFamily } from "../../../../shared/loading/use-family.js";
import { useLog } from "../../../../shared/loading/use-log.js";
import { Run } from "../../../../shared/log/run.js";
import { firstBudget, POLICIES } from "./facts.js";

const makeRun = (id) => new Run(id);
/** A twin is given the run's tokens, to compare each step, or chooses its own, to see its text. */
const TOKENS = ["given", "own"];
const NOTHING = { ids: {}, count: 0, starting: false, problem: null };

const keyOf = ({ cache, budget, tokens }) => `${cache} ${budget} ${tokens}`;

/**
 * Finds and starts the twins of a run by policy.
 *
 * @param {Object} client
 * @param {Object} run
 * @param {number|null} chosen budget; null: none yet
 * @returns {{budget: number, twins: {policy: string, given: Run|null, own: Run|null}[], starting: boolean, problem: Error|null,
 *   start: () => void, stop: () => void}} logs grow in place
 */
export function usePolicies(client, run, chosen) {
  const [own, setOwn] = useState(NOTHING);
  const connected = useFamily(client, run.close ? run : null, own.count)?.runs ?? null;
  const budget = chosen ?? firstBudget(run, connected);
  const idOf = (cache, tokens) => {
    const settings = { cache, budget, tokens };
    return own.ids[keyOf(settings)] ?? (connected ? twinAmong(connected, run.id, settings) : null);
  };
  const [window, sinks, heavy] = POLICIES.map((policy) => TOKENS.map((tokens) => idOf(policy, tokens)));
  const pairs = [usePair(client, window), usePair(client, sinks), usePair(client, heavy)];

  const start = useCallback(async () => {
    setOwn((before) => ({ ...before, starting: true, problem: null }));
    try {
      for (const tokens of TOKENS) {
        for (const cache of POLICIES) {
          const settings = { cache, budget, tokens };
          const { id } = await client.twin(run.id, settings);
          setOwn((before) => ({ ...before, ids: { ...before.ids, [keyOf(settings)]: id } }));
        }
      }
      setOwn((before) => ({ ...before, starting: false, count: before.count + 1 }));
    } catch (problem) {
      setOwn((before) => ({ ...before, starting: false, count: before.count + 1, problem }));
    }
  }, [client, run.id, budget]);

  const logs = pairs.flat();
  const stop = async () => {
    for (const { log } of logs) {
      // A twin may have ended just before.
      if (log && !log.close) await client.control(log.id, "stop").catch(() => {});
    }
  };
  return {
    budget,
    twins: pairs.map(([given, free], at) => ({ policy: POLICIES[at], given: given.log, own: free.log })),
    starting: own.starting,
    problem: own.problem ?? logs.find(({ problem }) => problem)?.problem ?? null,
    start,
    stop,
  };
}

/** @param {(string|null)[]} ids */
function usePair(client, ids) {
  return [useLog(client, ids[0], makeRun), useLog(client, ids[1], makeRun)];
}
