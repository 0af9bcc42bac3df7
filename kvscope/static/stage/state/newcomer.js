/** Starts a first visit to the front page with the intro, and remembers on the device that the visitor has left the intro. */

import { inIntro } from "../../shared/state/intro.js";

const KEY = "kvscope.intro-seen";

/**
 * @param {{run: string|null, link: Object}} address as `readAddress` gives it
 * @param {{getItem: Function}} storage of the device
 * @returns {{run: string|null, link: Object}} what to open
 */
export function beginOf({ run, link }, storage) {
  const linked = run !== null || Object.keys(link).length > 0;
  const first = !linked && storage.getItem(KEY) === null;
  return { run, link: first ? { view: "intro" } : link };
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
