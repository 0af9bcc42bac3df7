/** The word that some servers ask for before they start, share or import: it comes once, in the address, and is kept. */

const KEY = "kvscope.token";
const IN_HASH = /^#token=([A-Za-z0-9._~-]{8,200})$/;

/**
 * Takes the token out of the address, so that no link that is copied from there has it.
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
