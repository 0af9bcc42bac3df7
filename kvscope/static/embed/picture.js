/**
 * Exchanges messages with the lesson around a page (docs/lessons.md). The lesson shows the real page in a frame with a name: the page
 * reports what it shows, and shows what the lesson requests.
 */

import { PROTOCOL } from "./protocol.js";

/** Name of the frame. It stays when the page's address changes, and it also marks a page inside a saved file, which has no address. */
export const PICTURE = "kvscope-lesson-picture";

/** @returns {boolean} whether the page is the picture of a lesson */
export function isPicture({ name, parent }, self = window) {
  return parent !== self && name === PICTURE;
}

/**
 * @param {{window: Window, read: () => Object|null, commands: Object<string, (data: Object) => void>}} parts `read`: what the page
 *   shows, as plain values by name, with `page` and `address`; null while it shows nothing. `commands`: handlers by type of message
 * @returns {{tell: () => void, send: (message: Object) => void, dispose: () => void}} `tell`: sends what is shown, if it has changed
 */
export function createPicture({ window, read, commands }) {
  const { parent, origin } = window;
  // What the viewer types is in the messages: only a lesson of the same origin gets them. A file and a sandboxed frame have no origin to name.
  const target = /^https?:/.test(origin) ? origin : "*";
  let lastSent = "";

  const send = (message) => parent.postMessage({ kvscope: PROTOCOL, ...message }, target);

  const tell = () => {
    const shown = read();
    const text = JSON.stringify(shown);
    if (!shown || text === lastSent) return;
    lastSent = text;
    send({ type: "picture", shown });
  };

  const onMessage = ({ source, data }) => {
    if (source !== parent || data?.kvscope !== PROTOCOL) return;
    if (data.type === "hello") {
      lastSent = "";
      tell();
    } else if (Object.hasOwn(commands, data.type)) {
      commands[data.type](data);
    }
  };

  window.addEventListener("message", onMessage);
  send({ type: "pictureready" });
  return {
    tell,
    send,
    dispose: () => window.removeEventListener("message", onMessage),
  };
}
