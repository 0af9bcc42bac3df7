/** The branches, twins and beam searches related to a run, requested again while they change. */

import { useEffect, useState } from "preact/hooks";

/** Interval between requests while a run of the family grows, in ms. */
const GROWING_MS = 2000;

/**
 * @param {Object} client
 * @param {import("../log/run.js").Run|null} run
 * @param {*} news a value that changes when the family has changed
 * @returns {{root: string, runs: Object[]}|null} null until it is known, and for a saved run, which has no family
 */
export function useFamily(client, run, news = null) {
  const [family, setFamily] = useState(null);
  const id = run?.open && !run.saved ? run.id : null;
  const over = Boolean(run?.close);

  useEffect(() => {
    if (!id) return undefined;
    let disposed = false;
    let timer = null;
    const ask = async () => {
      const answer = await client.family(id).catch(() => null);
      if (disposed) return;
      setFamily(answer);
      if (answer?.runs.some(({ status }) => status === "running")) timer = setTimeout(ask, GROWING_MS);
    };
    ask();
    return () => {
      disposed = true;
      clearTimeout(timer);
    };
  }, [client, id, over, news]);

  const parent = run?.open?.parent?.run;
  const ours = family?.runs.some((other) => other.id === id || other.id === parent);
  return ours ? family : null;
}
