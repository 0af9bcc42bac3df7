/** The token that tells the server which of those behind one address this browser is; it grants nothing. */

const KEY = "kvscope.client";
const BYTES = 16;

/**
 * @param {{getItem: Function, setItem: Function}} storage of the device
 * @param {(bytes: Uint8Array) => Uint8Array} fill puts random bytes into an array, as crypto.getRandomValues does
 * @returns {string} 32 hexadecimal digits, the same on the next visit
 */
export function visitorOf(storage, fill) {
  const kept = storage.getItem(KEY);
  if (/^[0-9a-f]{32}$/.test(kept ?? "")) return kept;
  const made = Array.from(fill(new Uint8Array(BYTES)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  storage.setItem(KEY, made);
  return made;
}
