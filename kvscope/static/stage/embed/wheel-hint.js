/**
 * In an embed the wheel scrolls the surrounding page: embed.css hides overflow from a mouse, so the browser passes the wheel
 * on. With Ctrl the wheel scrolls what is under the pointer. A hint says so to a visitor who scrolls without it.
 */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { nodes } from "../../shared/words/msg.js";

const SHOWN_MS = 1600;
/** CSS pixels. A smaller overflow is only a descender or a border, not hidden content. */
const LEAST_PX = 8;

export function WheelHint() {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    let timer = 0;
    const onWheel = (event) => {
      const box = scrollable(event.target, event.deltaY);
      if (event.ctrlKey || event.metaKey) {
        // Otherwise the browser would zoom the page around.
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
    ${shown && nodes`To scroll here, hold ${html`<kbd>Ctrl</kbd>`} or ${html`<kbd>⌘</kbd>`}.`}
  </p>`;
}

/** @returns {Element|null} the nearest element around `from` that can scroll in the direction of `delta` */
function scrollable(from, delta) {
  for (let element = from; element instanceof Element; element = element.parentElement) {
    const { overflowY } = getComputedStyle(element);
    const hidden = delta > 0 ? element.scrollHeight - element.clientHeight - element.scrollTop : element.scrollTop;
    if (overflowY !== "visible" && element.clientHeight > 0 && hidden > LEAST_PX) return element;
  }
  return null;
}
