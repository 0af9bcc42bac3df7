/** How a page begins: who asks, and the client that asks for it. */

import { createClient } from "../log/client.js";
import { connect } from "../log/connect.js";
import { fileSource } from "../log/file-source.js";
import { fetchUnder } from "../log/root.js";
import { upload } from "../log/upload.js";
import { createDeleteTokens, OF_RUNS, OF_SHARED } from "./delete-tokens.js";
import { tokenOf } from "./token.js";
import { visitorOf } from "./visitor.js";

/** @returns {string|null} the text of an element that the server wrote into the page */
const textOf = (id) => document.getElementById(id)?.textContent ?? null;
const jsonOf = (id) => JSON.parse(textOf(id));

/** @returns {Object} what the server gave this page to begin with */
export function bootstrapOf() {
  return jsonOf("bootstrap");
}

/**
 * Headers that say who asks. To be called before the page writes its address anew: the server's token comes in it.
 *
 * @param {Object} settings of `storageOr`
 * @param {boolean} stranger a file, or another page's guest: it says nothing, and only reads what is open to everybody
 */
export function identityOf(settings, stranger) {
  if (stranger) return {};
  const token = tokenOf(window, settings);
  return {
    "X-KVScope-Client": visitorOf(settings, () => crypto.getRandomValues(new Uint8Array(16))),
    ...(token ? { Authorization: `Bearer ${token}` } : {}),
  };
}

/**
 * @param {{settings: Object, saved: Object|null, stranger: boolean}} page `saved`: the session that it shows
 * @param {Object} [more] what `createClient` takes besides
 */
export function clientOf({ settings, saved, stranger }, more = {}) {
  const identity = identityOf(settings, stranger);
  return createClient({
    fetch: saved?.file ? fetchFromFile() : fetchUnder,
    upload,
    connect,
    saved,
    tokens: createDeleteTokens(settings, OF_RUNS),
    sharings: createDeleteTokens(settings, OF_SHARED),
    delay: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    identity: () => identity,
    ...more,
  });
}

/** What is inside a page that was saved as a file. */
function fetchFromFile() {
  const [manifest, glossary] = ["manifest", "glossary"].map(jsonOf);
  return fileSource({ manifest, glossary, textOf, subtle: window.crypto.subtle });
}
