/** Exact values from inside the model, fetched when they are wanted and kept for a while. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLater } from "../painting/later.js";

/** Wait this long for the choice to settle, so that walking over cells does not ask for every one. */
const SETTLE_MS = 180;
const KEPT = 16;
/** A server that cannot be reached, or whose model is still loading, is asked again after this long, in ms. */
const RETRY_MS = 2000;
const NOT_NOW = [0, 503];

/**
 * @param {(wanted: Object) => Promise<Object>} load one of the client's methods, such as `client.ask("head")`
 * @param {Object<string, string|number>|null} wanted its argument; null: nothing is wanted
 * @returns {{status: "idle"|"loading"|"ready"|"failed", values: Object|null, problem: import("../log/problem.js").Problem|null}}
 */
export function useExact(load, wanted) {
  const kept = useRef(new Map());
  const [failure, setFailure] = useState(null);
  const [, setArrived] = useState(0);
  const later = useLater();
  const name = wanted ? Object.values(wanted).join("/") : null;

  // What is left is not asked for, even in the frame that leaves it: an effect would be cleared only after its painting.
  useLayoutEffect(() => {
    if (!name || kept.current.has(name)) return undefined;
    let over = false;
    let timer = null;
    let forget = () => {};
    const ask = async () => {
      try {
        const values = await load(wanted);
        keep(kept.current, name, values);
        if (!over) setArrived((count) => count + 1);
      } catch (problem) {
        if (over) return;
        setFailure({ name, problem });
        if (NOT_NOW.includes(problem.status)) timer = setTimeout(ask, RETRY_MS);
      }
    };
    timer = setTimeout(() => {
      // What is wanted here may have been left already, and the model would compute it, for seconds on a busy machine:
      // whatever of the page does not show that yet is in the queue before this.
      forget = later(ask);
    }, SETTLE_MS);
    return () => {
      over = true;
      clearTimeout(timer);
      forget();
    };
  }, [name, load, later]);

  if (!name) return { status: "idle", values: null, problem: null };
  const values = kept.current.get(name) ?? null;
  if (values) return { status: "ready", values, problem: null };
  return failure?.name === name
    ? { status: "failed", values: null, problem: failure.problem }
    : { status: "loading", values: null, problem: null };
}

function keep(kept, name, values) {
  kept.set(name, values);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
}
