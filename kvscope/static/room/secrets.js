/** The secrets of the rooms that this device presents. A second device gets one by an address, from which it is removed at once. */

import { storedList } from "../shared/state/stored-list.js";

const KEY = "kvscope.rooms";
const MOST = 20;
const IN_HASH = /^#secret=([A-Za-z0-9_-]{20,100})$/;

/** @param {{getItem: Function, setItem: Function}} storage of the device @param {() => number} now in ms since 1970 */
export function createSecrets(storage, now) {
  const isEntry = (entry) => Array.isArray(entry) && entry.length === 3 && entry[2] > now() / 1000;
  /** Entries: [code, secret, when the room expires in seconds since 1970]. */
  const { all, keep } = storedList(storage, KEY, { isEntry, most: MOST });
  const others = (code) => all().filter(([stored]) => stored !== code);

  return {
    add: (code, secret, expires) => keep([...others(code), [code, secret, expires]]),
    /** @returns {string[]} newest first */
    codes: () =>
      all()
        .map(([code]) => code)
        .reverse(),
    /** @returns {string|null} */
    of: (code) => all().find(([stored]) => stored === code)?.[1] ?? null,
    forget: (code) => keep(others(code)),
  };
}

/**
 * @param {{location: Location, history: History}} window
 * @returns {string|null} the secret in the address, which then is without it: copied links must not contain it
 */
export function secretInAddress({ location, history }) {
  const secret = IN_HASH.exec(location.hash)?.[1] ?? null;
  if (secret) history.replaceState(null, "", `${location.pathname}${location.search}`);
  return secret;
}

/** @returns {string} a room's code as it was typed: in small letters, with spaces or hyphens */
export function codeOf(text) {
  return text.toUpperCase().replace(/[^0-9A-Z]/g, "");
}

/** @returns {string} a code in two halves, to be read aloud: "K7QX 2MPA" */
export function readable(code) {
  return `${code.slice(0, 4)} ${code.slice(4)}`.trim();
}
