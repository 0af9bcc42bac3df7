/** Loads values that the engine computes when a component needs them, with a cache. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLater } from "../painting/later.js";

/** Delay before a request, so that moving over cells does not request every one. */
const SETTLE_MS = 180;
const MOST_CACHED = 16;
/** Delay before a retry when the server cannot be reached, is busy, or loads its model, in ms. */
const RETRY_MS = 2000;
const NOT_NOW = [0, 429, 503];

/**
 * @param {(parameters: Object) => Promise<Object>} load a method of the client, such as `client.ask("head")`
 * @param {Object<string, string|number|string[]>|null} parameters its argument; null: load nothing
 * @returns {{status: "idle"|"loading"|"ready"|"failed", values: Object|null, problem: import("../log/problem.js").Problem|null}}
 */
export function useExact(load, parameters) {
  const cache = useRef(new Map());
  const [failure, setFailure] = useState(null);
  const [, setArrived] = useState(0);
  const later = useLater();
  const name = parameters ? Object.values(parameters).join("/") : null;

  // Cancels a request in the same frame in which the selection changes: an effect would be cleared only after painting.
  useLayoutEffect(() => {
    if (!name || cache.current.has(name)) return undefined;
    let disposed = false;
    let timer = null;
    let forget = () => {};
    const ask = async () => {
      try {
        const values = await load(parameters);
        keep(cache.current, name, values);
        if (!disposed) setArrived((count) => count + 1);
      } catch (problem) {
        if (disposed) return;
        setFailure({ name, problem });
        if (NOT_NOW.includes(problem.status)) timer = setTimeout(ask, RETRY_MS);
      }
    };
    timer = setTimeout(() => {
      // The selection may have changed already, and the model would compute for seconds on a busy machine. The queue runs this after
      // the jobs that update the rest of the page.
      forget = later(ask);
    }, SETTLE_MS);
    return () => {
      disposed = true;
      clearTimeout(timer);
      forget();
    };
  }, [name, load, later]);

  if (!name) return { status: "idle", values: null, problem: null };
  const values = cache.current.get(name) ?? null;
  if (values) return { status: "ready", values, problem: null };
  return failure?.name === name
    ? { status: "failed", values: null, problem: failure.problem }
    : { status: "loading", values: null, problem: null };
}

function keep(cache, name, values) {
  cache.set(name, values);
  if (cache.size > MOST_CACHED) cache.delete(cache.keys().next().value);
}
