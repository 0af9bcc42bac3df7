/** The client of a page that shows runs, from a server or from a saved file. */

import { io } from "socket.io-client";
import { createClient } from "../log/client.js";
import { deviceSource } from "../log/device.js";
import { loadedLater } from "../log/loaded-later.js";
import { followPresence } from "../log/presence.js";
import { fetchUnder, IN_SITE, under } from "../log/root.js";
import { upload } from "../log/upload.js";
import { jsonOf, textOf } from "./bootstrap.js";
import { createDeleteTokens, OF_RUNS, OF_SHARED } from "./delete-tokens.js";
import { identityOf } from "./identity.js";

/** @param {number} ms  @returns {Promise<void>} resolves after this time */
export const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @returns {Object} a socket that connects to this server */
export const connect = () => io({ path: under("/socket.io/"), transports: ["websocket"] });

/**
 * @param {{settings: Object, saved: Object|null, stranger: boolean, device?: {alone: boolean, open: (parts: any) => Promise<import("../log/device.js").Engine>}|null,
 *   source?: Function|null}} page `saved`: the session
 *   that it shows; `device`: how this device can compute, as `deviceSource` takes it; `source`: answers the page's requests instead of a
 *   server
 * @param {Object} [more] further parts of `createClient`
 */
export function clientOf({ settings, saved, stranger, device = null, source = null }, more = {}) {
  const identity = identityOf(settings, stranger);
  return createClient({
    fetch:
      source ?? (saved?.file ? fetchFromFile() : device ? deviceSource({ fetch: fetchUnder, ...device }) : fetchUnder),
    upload,
    connect: IN_SITE ? null : connect,
    saved,
    tokens: createDeleteTokens(settings, OF_RUNS),
    sharings: createDeleteTokens(settings, OF_SHARED),
    delay,
    identity: () => identity,
    presence: (listener) => followPresence(window, listener),
    ...more,
  });
}

/** Reads the data inside a page that was saved as a file. */
function fetchFromFile() {
  const [manifest, glossary] = ["manifest", "glossary"].map(jsonOf);
  return loadedLater(async () =>
    (await import("../log/file-source.js")).fileSource({ manifest, glossary, textOf, subtle: window.crypto.subtle }),
  );
}
