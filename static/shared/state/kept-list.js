/** A list that the device keeps. What somebody else wrote there is left out. */

/**
 * @param {{getItem: Function, setItem: Function}} storage of the device; asked each time, since other tabs add to it
 * @param {string} key
 * @param {{isEntry: (entry: any) => boolean, most: number}} what `most`: of more the oldest are forgotten
 * @returns {{all: () => any[], keep: (entries: any[]) => void}} oldest first
 */
export function keptList(storage, key, { isEntry, most }) {
  return {
    all() {
      try {
        const kept = JSON.parse(storage.getItem(key) ?? "[]");
        return Array.isArray(kept) ? kept.filter(isEntry) : [];
      } catch {
        return [];
      }
    },
    keep: (entries) => storage.setItem(key, JSON.stringify(entries.slice(-most))),
  };
}
