/**
 * Starts a first visit to the front page with the intro, and later ones with the first parts of the page. Remembers on the device that
 * the visitor has left the intro.
 */

import { inIntro } from "../../shared/state/intro.js";
import { FIRST } from "./focus.js";

const KEY = "kvscope.intro-seen";

/**
 * @param {{run: string|null, link: Object}} address as `readAddress` gives it
 * @param {{getItem: Function}} storage of the device
 * @returns {{run: string|null, link: Object}} what to open
 */
export function beginOf({ run, link }, storage) {
  if (run !== null || Object.keys(link).length > 0) return { run, link };
  return { run, link: storage.getItem(KEY) === null ? { view: "intro" } : { step: 0, focus: FIRST } };
}

/** @returns {() => void} stops watching the store */
export function rememberIntro(store, storage) {
  let was = inIntro(store.state());
  return store.subscribe((state) => {
    const is = inIntro(state);
    if (was && !is) storage.setItem(KEY, "1");
    was = is;
  });
}
