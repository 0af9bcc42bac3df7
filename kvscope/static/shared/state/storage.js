/** The browser's storage for the page. In a sandboxed frame, reading the property throws; then values last until the page closes. */

/**
 * @param {() => Storage} find reads the window's property
 * @returns {{getItem: (key: string) => string|null, setItem: (key: string, value: string) => void}} neither throws
 */
export function storageOr(find) {
  const memory = new Map();
  let browser = null;
  try {
    browser = find();
  } catch {
    // Sandboxed, or disabled by the viewer.
  }
  return {
    getItem: (key) => memory.get(key) ?? browser?.getItem(key) ?? null,
    setItem(key, value) {
      try {
        browser.setItem(key, value);
      } catch {
        memory.set(key, value);
      }
    },
  };
}
