/** The source for a component that shows it. */

import { useLayoutEffect, useState } from "preact/hooks";
import { readSource } from "./source.js";

/** @returns {{source: import("./source.js").Source|null, failed: boolean}} loaded source is in the first frame; an effect would need another frame */
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
