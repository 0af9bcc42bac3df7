/** Who comes to the front page for the first time, by no link, sees the intro first; once it is left, that is remembered on the device. */

import { inIntro } from "./intro.js";

const KEY = "kvscope.intro-seen";

/**
 * @param {{run: string|null, link: Object}} address as `readAddress` gives it
 * @param {{getItem: Function}} storage of the device
 * @returns {{run: string|null, link: Object}} where to begin
 */
export function beginOf({ run, link }, storage) {
  const linked = run !== null || Object.keys(link).length > 0;
  const first = !linked && storage.getItem(KEY) === null;
  return { run, link: first ? { view: "intro" } : link };
}

/** @returns {() => void} stops it */
export function rememberIntro(store, storage) {
  let was = inIntro(store.state());
  return store.subscribe((state) => {
    const is = inIntro(state);
    if (was && !is) storage.setItem(KEY, "1");
    was = is;
  });
}
