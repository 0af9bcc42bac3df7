/** Headers that identify the client: a random id for this browser, and the token that some servers require. */

const TOKEN_KEY = "kvscope.token";
const TOKEN_IN_HASH = /^#token=([A-Za-z0-9._~-]{8,200})$/;
const VISITOR_KEY = "kvscope.client";

/**
 * Returns the headers. Call it before the page changes its address, which may carry the server's token.
 *
 * @param {Object} settings of `storageOr`
 * @param {boolean} stranger a file or an embed: it sends no headers and reads only public data
 * @returns {Object<string, string>}
 */
export function identityOf(settings, stranger) {
  if (stranger) return {};
  const token = tokenOf(window, settings);
  return {
    "X-KVScope-Client": visitorOf(settings, () => crypto.getRandomValues(new Uint8Array(16))),
    ...(token ? { Authorization: `Bearer ${token}` } : {}),
  };
}

/**
 * Returns the token that some servers require to start, share or import. The address has it once; it is stored, and removed from
 * the address, so that copied links do not contain it.
 *
 * @param {{location: Location, history: History}} window
 * @param {{getItem: Function, setItem: Function}} storage of the device
 * @returns {string|null}
 */
export function tokenOf({ location, history }, storage) {
  const token = TOKEN_IN_HASH.exec(location.hash)?.[1];
  if (token) {
    storage.setItem(TOKEN_KEY, token);
    history.replaceState(null, "", `${location.pathname}${location.search}`);
  }
  return storage.getItem(TOKEN_KEY);
}

/**
 * Returns an id that distinguishes this browser from others behind the same network address; it grants nothing.
 *
 * @param {{getItem: Function, setItem: Function}} storage of the device
 * @param {() => Iterable<number>} random 16 random bytes, for a browser without an id
 * @returns {string} 32 hexadecimal digits, the same on the next visit
 */
export function visitorOf(storage, random) {
  const stored = storage.getItem(VISITOR_KEY);
  if (/^[0-9a-f]{32}$/.test(stored ?? "")) return stored;
  const id = Array.from(random(), (byte) => byte.toString(16).padStart(2, "0")).join("");
  storage.setItem(VISITOR_KEY, id);
  return id;
}
