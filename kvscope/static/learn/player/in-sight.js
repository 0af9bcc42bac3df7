/** Scrolls to the text after an answer, a task or a hint, which may be below the visible part. */

import { useEffect, useRef } from "preact/hooks";

/** @param {any[]} changes when one of them changes, the page scrolls to the element @returns {Object} a ref for the element */
export function useInSight(changes) {
  const element = useRef(null);
  const isMounted = useRef(false);
  useEffect(() => {
    if (isMounted.current) element.current?.scrollIntoView({ block: "nearest" });
    isMounted.current = true;
  }, changes);
  return element;
}
