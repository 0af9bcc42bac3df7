/**
 * In an embed the wheel scrolls the page around it: what overflows there is hidden from a mouse (embed.css), so that the
 * browser itself hands the wheel on. With Ctrl it moves what is under the pointer; who tries without is told.
 */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";

const SHOWN_MS = 1600;
/** Less than that is no content out of sight, only a descender or a border, in CSS pixels. */
const LEAST_PX = 8;

export function WheelHint() {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    let timer = 0;
    const onWheel = (event) => {
      const box = scrollable(event.target, event.deltaY);
      if (event.ctrlKey || event.metaKey) {
        // Or the browser would magnify the page around.
        event.preventDefault();
        box?.scrollBy({ top: event.deltaY, behavior: "instant" });
      } else if (box && getComputedStyle(box).overflowY === "hidden") {
        clearTimeout(timer);
        timer = setTimeout(() => setShown(false), SHOWN_MS);
        setShown(true);
      }
    };
    window.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      clearTimeout(timer);
      window.removeEventListener("wheel", onWheel);
    };
  }, []);
  return html`<p class="wheel-hint untouched" role="status" data-shown=${shown}>
    ${shown && html`There is more here: hold <kbd>Ctrl</kbd> (or <kbd>⌘</kbd>) while you scroll.`}
  </p>`;
}

/** @returns {Element|null} the nearest element around `from` that has more to show in the direction of `delta` */
function scrollable(from, delta) {
  for (let element = from; element instanceof Element; element = element.parentElement) {
    const { overflowY } = getComputedStyle(element);
    const left = delta > 0 ? element.scrollHeight - element.clientHeight - element.scrollTop : element.scrollTop;
    if (overflowY !== "visible" && element.clientHeight > 0 && left > LEAST_PX) return element;
  }
  return null;
}
