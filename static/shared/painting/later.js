/** What is left to a later frame of the page's painting queue. */

import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";

/** `later` of the page's painting queue, for all of the page. */
export const Later = createContext(null);

/** @returns {(job: () => void, urgent?: boolean) => () => void} as `createQueue` gives it */
export function useLater() {
  return useContext(Later);
}

/**
 * What is made anew need not all be made in one frame: that would be one long task.
 *
 * @param {number} count of entries to make
 * @param {{first: number, more: number, of?: *}} how many at once, and how many in each job after it; `of`: what they
 *   are made for, where that changes
 * @returns {number} how many to make by now
 */
export function useGradually(count, { first, more, of = null }) {
  const [made, setMade] = useState({ of, count: first });
  const later = useLater();
  const now = Math.min(count, made.of === of ? made.count : first);
  useEffect(() => {
    if (now === count) return undefined;
    return later(() => setMade({ of, count: now + more }));
  }, [of, now, count, more, later]);
  return now;
}
