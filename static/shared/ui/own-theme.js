/** Light or dark on a page beside the Stage. */

import { useState } from "preact/hooks";
import { firstTheme, rememberTheme, systemDark } from "../state/theme.js";

/**
 * The theme of a page beside the Stage. The root element carries it before anything is rendered in it: drawings read their
 * colours off the page.
 *
 * @param {Object} storage as in `firstTheme`, like `asked`
 * @returns {[string, (theme: string) => void]} and what chooses another
 */
export function useOwnTheme(storage, asked = null) {
  const [theme, setTheme] = useState(() => firstTheme(storage, systemDark().matches, asked));
  document.documentElement.dataset.theme = theme;
  const choose = (next) => {
    rememberTheme(storage, next);
    setTheme(next);
  };
  return [theme, choose];
}
