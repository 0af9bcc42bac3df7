/** Tells the page around an embed how high its frame would have to be, now and whenever that changes. */

import { sizeMessages } from "./protocol.js";

/** @returns {() => void} stops telling */
export function tellHeight() {
  const tell = () => {
    for (const message of sizeMessages(Math.ceil(document.body.scrollHeight))) window.parent.postMessage(message, "*");
  };
  const resized = new ResizeObserver(tell);
  resized.observe(document.body);
  return () => resized.disconnect();
}
