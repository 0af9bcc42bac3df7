/** The theme of a page other than the Stage. */

import { useState } from "preact/hooks";
import { firstTheme, rememberTheme, systemDark } from "../state/theme.js";

/**
 * Sets the theme on the root element before anything renders, because drawings read their colours from the page.
 *
 * @param {Object} storage as in `firstTheme`, like `override`
 * @returns {[string, (theme: string) => void]} the theme and its setter
 */
export function useOwnTheme(storage, override = null) {
  const [theme, setTheme] = useState(() => firstTheme(storage, systemDark().matches, override));
  document.documentElement.dataset.theme = theme;
  const choose = (next) => {
    rememberTheme(storage, next);
    setTheme(next);
  };
  return [theme, choose];
}
