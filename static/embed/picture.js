/**
 * A page's side of the messages between it and the lesson around it (docs/lessons.md). The lesson shows the real page in a frame with
 * a name: the page says what it shows, and shows what the lesson asks for.
 */

import { PROTOCOL } from "./protocol.js";

/** Name of the frame. It outlasts a change of the page's address, and a saved file has no address that could say it. */
export const PICTURE = "kvscope-lesson-picture";

/** By when a page has drawn what changed, and most of what it opens with, in ms. */
const SOON_MS = 150;
const DRAWN_MS = 1200;

/** @returns {boolean} whether the page is the picture of a lesson */
export function isPicture({ name, parent }, self = window) {
  return parent !== self && name === PICTURE;
}

/**
 * @param {{window: Window, read: () => Object|null, commands: Object<string, (data: Object) => void>}} parts `read`: what the page
 *   shows, as plain values by name, with `page` and `address`; null while it shows nothing. `commands`: by type of message
 * @returns {{tell: () => void, dispose: () => void}} `tell`: sends what is shown, if it has changed
 */
export function createPicture({ window, read, commands }) {
  const { parent } = window;
  let told = "";

  const tell = () => {
    const shown = read();
    const text = JSON.stringify(shown);
    if (!shown || text === told) return;
    told = text;
    parent.postMessage({ kvscope: PROTOCOL, type: "picture", shown }, "*");
  };

  const onMessage = ({ source, data }) => {
    if (source !== parent || data?.kvscope !== PROTOCOL) return;
    if (data.type === "hello") {
      told = "";
      tell();
    } else if (Object.hasOwn(commands, data.type)) {
      commands[data.type](data);
    }
  };

  window.addEventListener("message", onMessage);
  parent.postMessage({ kvscope: PROTOCOL, type: "pictureready" }, "*");
  return {
    tell,
    dispose: () => window.removeEventListener("message", onMessage),
  };
}

/**
 * Brings the first of the lit parts into sight, unfolded. A page may still be drawing it.
 *
 * @param {ParentNode} inside where it is looked for
 */
export function showLit(inside, [name]) {
  if (!name) return;
  const show = () => {
    const part = inside.querySelector(`[data-lit="${CSS.escape(name)}"], [data-names~="${CSS.escape(name)}"]`);
    if (part instanceof HTMLDetailsElement) part.open = true;
    if (part && !isInSight(part)) part.scrollIntoView({ block: isTall(part) ? "start" : "center" });
  };
  setTimeout(show, SOON_MS);
  setTimeout(show, DRAWN_MS);
}

/** A panel that scrolls cuts off what is outside it. */
function isInSight(part) {
  const { top, bottom } = part.getBoundingClientRect();
  const panel = part.closest(".scrolls")?.getBoundingClientRect();
  return top >= Math.max(0, panel?.top ?? 0) && bottom <= Math.min(window.innerHeight, panel?.bottom ?? Infinity);
}

/** Its beginning is what has to be seen. */
function isTall(part) {
  return part.getBoundingClientRect().height > window.innerHeight / 2;
}
