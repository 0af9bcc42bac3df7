/** The token that some servers require to start, share or import. It comes once, in the address, and is stored. */

const KEY = "kvscope.token";
const IN_HASH = /^#token=([A-Za-z0-9._~-]{8,200})$/;

/**
 * Removes the token from the address, so that copied links do not contain it.
 *
 * @param {{location: Location, history: History}} window
 * @param {{getItem: Function, setItem: Function}} storage of the device
 * @returns {string|null}
 */
export function tokenOf({ location, history }, storage) {
  const given = IN_HASH.exec(location.hash)?.[1];
  if (given) {
    storage.setItem(KEY, given);
    history.replaceState(null, "", `${location.pathname}${location.search}`);
  }
  return storage.getItem(KEY);
}
