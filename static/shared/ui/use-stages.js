/** Puts a large view on the page part by part, a task for each, so that opening it never holds the page up. */

import { useEffect, useState } from "preact/hooks";

/** @returns {number} how many parts are due: 1 at first, then one more each turn, up to `count` */
export function useStages(count) {
  const [due, setDue] = useState(1);
  useEffect(() => {
    if (due >= count) return undefined;
    const timer = setTimeout(() => setDue(due + 1));
    return () => clearTimeout(timer);
  }, [due, count]);
  return Math.min(due, count);
}
