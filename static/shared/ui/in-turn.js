/** A part of a page without a store: it shows what is new when its turn comes in the page's queue. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLater } from "../turns/later.js";
import { Memo } from "./memo.js";

/**
 * The components `parts`, with the props `with`: from the first on, these are shown in a later frame, in which no other part
 * of the page is rendered. Where newer ones have come by then, those are.
 */
export function InTurn({ parts, with: newest }) {
  const later = useLater();
  const [shown, show] = useState(null);
  const latest = useRef(newest);
  const forget = useRef(null);
  latest.current = newest;
  useLayoutEffect(() => {
    if (shown === newest || forget.current) return;
    forget.current = later(() => {
      forget.current = null;
      show(latest.current);
    });
  }, [shown, newest, later]);
  useLayoutEffect(() => () => forget.current?.(), []);
  return shown && parts.map((Part) => html`<${Memo} key=${Part.name} of=${Part} ...${shown} />`);
}
