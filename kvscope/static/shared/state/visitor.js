/** A token that distinguishes this browser from others behind the same address; it grants nothing. */

const KEY = "kvscope.client";

/**
 * @param {{getItem: Function, setItem: Function}} storage of the device
 * @param {() => Iterable<number>} random 16 random bytes, for a browser that has no token yet
 * @returns {string} 32 hexadecimal digits, the same on the next visit
 */
export function visitorOf(storage, random) {
  const stored = storage.getItem(KEY);
  if (/^[0-9a-f]{32}$/.test(stored ?? "")) return stored;
  const token = Array.from(random(), (byte) => byte.toString(16).padStart(2, "0")).join("");
  storage.setItem(KEY, token);
  return token;
}
