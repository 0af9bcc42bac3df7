/** The source for a component that shows it. */

import { useLayoutEffect, useState } from "preact/hooks";
import { readSource } from "./source.js";

/** @returns {{source: import("./source.js").Source|null, failed: boolean}} in the first frame, where it is there already: an effect would take another one */
export function useSource() {
  const [read, setRead] = useState({ source: null, failed: false });
  useLayoutEffect(() => {
    readSource().then(
      (source) => setRead({ source, failed: false }),
      () => setRead({ source: null, failed: true }),
    );
  }, []);
  return read;
}
