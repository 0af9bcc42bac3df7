/**
 * A page's side of the messages between it and the lesson around it (docs/lessons.md). The lesson shows the real page in a frame with
 * a name: the page says what it shows, and shows what the lesson asks for.
 */

import { PROTOCOL } from "./protocol.js";

/** Name of the frame. It outlasts a change of the page's address, and a saved file has no address that could say it. */
export const PICTURE = "kvscope-lesson-picture";

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
