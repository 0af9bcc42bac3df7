/** Brings what the page says after an answer, a task or a hint into sight, where the text scrolls below the buttons. */

import { useEffect, useRef } from "preact/hooks";

/** @param {any[]} changes when one of them changes, the element is brought into sight @returns {Object} a ref for the element */
export function useInSight(changes) {
  const element = useRef(null);
  const begun = useRef(false);
  useEffect(() => {
    if (begun.current) element.current?.scrollIntoView({ block: "nearest" });
    begun.current = true;
  }, changes);
  return element;
}
