/** The tokens that delete the runs which this device started. They grant nothing else. */

const KEY = "kvscope.run-tokens";
/** The oldest are forgotten: their runs go by themselves some day. */
const MOST = 200;

/** @param {{getItem: Function, setItem: Function}} storage of the device; asked each time, since other tabs add to it */
export function createRunTokens(storage) {
  /** @returns {[string, string][]} run and token, oldest first */
  const all = () => {
    try {
      const kept = JSON.parse(storage.getItem(KEY) ?? "[]");
      return Array.isArray(kept) ? kept.filter((entry) => Array.isArray(entry) && entry.length === 2) : [];
    } catch {
      return [];
    }
  };
  const keep = (entries) => storage.setItem(KEY, JSON.stringify(entries.slice(-MOST)));

  return {
    add: (run, token) => keep([...all(), [run, token]]),

    /** @returns {string|null} */
    of: (run) => all().find(([id]) => id === run)?.[1] ?? null,

    forget: (run) => keep(all().filter(([id]) => id !== run)),
  };
}
