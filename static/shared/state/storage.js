/** The browser's storage for the page. In a sandboxed frame, reading the property throws; then values last until the page closes. */

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
    // Sandboxed, or disabled by the viewer.
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
