/**
 * Starts a first visit to the front page with the intro, and later ones with the first parts of the page and those that the visitor opened
 * beside them. Remembers on the device that the visitor has left the intro, and what is open since.
 */

import { inIntro } from "../../shared/state/intro.js";
import { FIRST, lasting, withPart } from "./focus.js";

const KEY = "kvscope.intro-seen";
/** Names of parts of the page; `WHOLE`: all of it. */
const OPENED = "kvscope.opened";
const WHOLE = "all";

/**
 * @param {{run: string|null, link: Object}} address as `readAddress` gives it
 * @param {{getItem: Function}} storage of the device
 * @returns {{run: string|null, link: Object}} what to open
 */
export function beginOf({ run, link }, storage) {
  if (run !== null || Object.keys(link).length > 0) return { run, link };
  return { run, link: storage.getItem(KEY) === null ? { view: "intro" } : { step: 0, focus: openedOn(storage) } };
}

/** @returns {string[]|null} */
function openedOn(storage) {
  const names = storage.getItem(OPENED);
  return names === WHOLE ? null : lasting(names?.split(",") ?? []).reduce(withPart, FIRST);
}

/** @param {string[]|null} focus of a page that began with the first parts */
export function rememberOpened(focus, storage) {
  storage.setItem(OPENED, lasting(focus)?.join() ?? WHOLE);
}

/** The intro ends with the first parts alone. @returns {() => void} stops watching the store */
export function rememberIntro(store, storage) {
  let was = inIntro(store.state());
  return store.subscribe((state) => {
    const is = inIntro(state);
    if (was && !is) {
      storage.setItem(KEY, "1");
      rememberOpened(FIRST, storage);
    }
    was = is;
  });
}
