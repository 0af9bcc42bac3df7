/** A list in the storage of the device. Malformed entries are ignored. */

/**
 * @param {{getItem: Function, setItem: Function}} storage of the device; read each time, because other tabs also write to it
 * @param {string} key
 * @param {{isEntry: (entry: any) => boolean, most: number}} what `most`: the oldest entries above this number are dropped
 * @returns {{all: () => any[], keep: (entries: any[]) => void}} oldest first
 */
export function storedList(storage, key, { isEntry, most }) {
  return {
    all() {
      try {
        const stored = JSON.parse(storage.getItem(key) ?? "[]");
        return Array.isArray(stored) ? stored.filter(isEntry) : [];
      } catch {
        return [];
      }
    },
    keep: (entries) => storage.setItem(key, JSON.stringify(entries.slice(-most))),
  };
}
