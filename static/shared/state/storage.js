/** What the browser keeps for the page. In a sandboxed frame even asking for it throws: then it is kept until the page goes. */

/**
 * @param {() => Storage} find reads the window's property
 * @returns {{getItem: (key: string) => string|null, setItem: (key: string, value: string) => void}} neither throws
 */
export function storageOr(find) {
  const own = new Map();
  let kept = null;
  try {
    kept = find();
  } catch {
    // Sandboxed, or refused by the viewer.
  }
  return {
    getItem: (key) => own.get(key) ?? kept?.getItem(key) ?? null,
    setItem(key, value) {
      try {
        kept.setItem(key, value);
      } catch {
        own.set(key, value);
      }
    },
  };
}
