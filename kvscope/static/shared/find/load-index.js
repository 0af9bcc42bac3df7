/** The index of the search, loaded once for a page: later searches need no network. A saved file contains its glossary. */

import { fetchUnder } from "../log/root.js";
import { jsonOf, textOf } from "../state/bootstrap.js";
import { translated } from "../words/msg.js";

/**
 * @typedef {Object} Entry
 * @property {string} kind idea, term, lesson, page, view, recording, setting, printed or elsewhere
 * @property {string} id
 * @property {string} name
 * @property {string} text one or two sentences
 * @property {string[]} also other names
 * @property {string|null} address on this server, from its root; null if no page shows the entry
 */

/** @returns {Promise<Entry[]>} in the language of the page; rejects while the server does not respond */
export const loadIndex = once(async () => {
  const entries = textOf("glossary") === null ? await fetched() : termsOf(jsonOf("glossary"));
  return entries.map((entry) => ({ ...entry, name: translated(entry.name), text: translated(entry.text) }));
});

async function fetched() {
  const response = await fetchUnder("/api/index");
  if (!response.ok) throw new Error(`/api/index: ${response.status}`);
  return (await response.json()).entries;
}

/** A file has no server to open an address on. */
function termsOf(glossary) {
  return Object.entries(glossary).map(([id, { name, text, also = [] }]) => ({
    ...{ kind: "term", id, name, text, also },
    address: null,
  }));
}

/** Returns a function that caches the first success of `load`, and tries again after a failure. */
function once(load) {
  let loaded = null;
  return () => {
    loaded ??= load().catch((error) => {
      loaded = null;
      throw error;
    });
    return loaded;
  };
}
