/** Work for later frames, through the page's painting queue. */

import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";

/** Provides `later` of the page's painting queue to every component. */
export const Later = createContext(null);

/** @returns {(job: () => void, urgent?: boolean) => () => void} `later` of the queue */
export function useLater() {
  return useContext(Later);
}

/**
 * Renders the entries of a list in several frames, because one frame would be a long task.
 *
 * @param {number} count of entries
 * @param {{first: number, more: number, of?: *}} how many at first, and how many more in each job; `of`: a value; when it changes,
 *   the list starts again
 * @returns {number} how many to render now
 */
export function useGradually(count, { first, more, of = null }) {
  const [rendered, setRendered] = useState({ of, count: first });
  const later = useLater();
  const now = Math.min(count, rendered.of === of ? rendered.count : first);
  useEffect(() => {
    if (now === count) return undefined;
    return later(() => setRendered({ of, count: now + more }));
  }, [of, now, count, more, later]);
  return now;
}
