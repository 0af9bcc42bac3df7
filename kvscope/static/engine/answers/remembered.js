/** Remembers what answers computed, for the next question about the same rows: the values used last, up to a number of bytes. */

const MOST_BYTES = 64e6;

/** @param {number} [mostBytes] of all values together; the newest stays even if it is larger */
export function createRemembered(mostBytes = MOST_BYTES) {
  /** @type {Map<string, {value: any, bytes: number}>} least recently used first */
  const entries = new Map();
  let total = 0;

  const forget = (key) => {
    total -= entries.get(key)?.bytes ?? 0;
    entries.delete(key);
  };

  return {
    /** @returns {any} undefined if it is not there */
    get(key) {
      const entry = entries.get(key);
      if (!entry) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },

    /** @returns {any} the value */
    put(key, value, bytes) {
      forget(key);
      entries.set(key, { value, bytes });
      total += bytes;
      for (const oldest of entries.keys()) {
        if (total <= mostBytes || oldest === key) break;
        forget(oldest);
      }
      return value;
    },
  };
}
