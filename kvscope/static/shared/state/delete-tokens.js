/** Tokens that delete the runs that this device started and the sessions that it shared. They grant nothing else. */

import { storedList } from "./stored-list.js";

export const OF_RUNS = "kvscope.run-tokens";
export const OF_SHARED = "kvscope.share-tokens";
/** The oldest tokens above this number are dropped. */
const MOST = 200;

/**
 * @param {{getItem: Function, setItem: Function}} storage of the device
 * @param {string} key OF_RUNS or OF_SHARED
 */
export function createDeleteTokens(storage, key) {
  const isEntry = (entry) => Array.isArray(entry) && entry.length === 2;
  /** Entries: [id, token]. */
  const { all, keep } = storedList(storage, key, { isEntry, most: MOST });

  return {
    /** The same session can be shared more than once, each time with another token. */
    add: (id, token) => keep([...all(), [id, token]]),

    /** @returns {string[]} ids, each once, oldest first */
    ids: () => [...new Set(all().map(([id]) => id))],

    /** @returns {string|null} */
    of: (id) => all().find(([storedId]) => storedId === id)?.[1] ?? null,

    forget: (id, token) => keep(all().filter(([storedId, storedToken]) => storedId !== id || storedToken !== token)),
  };
}
