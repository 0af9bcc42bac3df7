/** Whether the window is as narrow as a phone's. */

import { useEffect, useState } from "preact/hooks";

/** The same width as in the style sheets. */
const NARROW = "(width < 720px)";

/** @returns {boolean} updated when the window changes */
export function useNarrow() {
  const [narrow, setNarrow] = useState(() => window.matchMedia(NARROW).matches);
  useEffect(() => {
    const query = window.matchMedia(NARROW);
    const changed = () => setNarrow(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return narrow;
}
