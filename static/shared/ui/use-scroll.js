/** Scrolling that follows a change. */

import { useEffect, useRef } from "preact/hooks";

/** Asking where things are makes the browser lay out the page, so it is asked once it has done so for the frame, in ms. */
const SCROLL_MS = 16;

/**
 * Runs `scroll` a little after something in `on` has changed, once for all changes until then.
 *
 * @param {(element: HTMLElement) => void} scroll
 * @param {{current: HTMLElement|null}} ref what it scrolls; nothing happens when that is gone
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
