/** Scrolls after a change, once the browser has laid it out. */

import { useEffect, useRef } from "preact/hooks";

/** Delay in ms until the browser has laid out the frame: reading positions earlier would force an extra layout. */
const SCROLL_MS = 16;

/**
 * Runs `scroll` shortly after something in `on` has changed, once for all changes until then.
 *
 * @param {(element: HTMLElement) => void} scroll
 * @param {{current: HTMLElement|null}} ref the element to scroll; nothing happens after it is removed
 */
export function useScroll(scroll, ref, on) {
  const latest = useRef(scroll);
  latest.current = scroll;
  const timer = useRef(0);
  useEffect(() => {
    timer.current ||= setTimeout(() => {
      timer.current = 0;
      if (ref.current) latest.current(ref.current);
    }, SCROLL_MS);
  }, on);
  useEffect(() => () => clearTimeout(timer.current), []);
}
