/** The page’s colours, for what draws with them. */

import { createContext } from "preact";
import { useContext, useMemo } from "preact/hooks";
import { readTheme } from "../draw/theme.js";

/** Colours for drawings, for all of the page. */
export const Theme = createContext(null);

/**
 * Colours read from the page, again when its theme changes: the root element carries a new theme before anything is
 * rendered in it. Reading makes the browser resolve all styles, so it is done once for everything that draws.
 *
 * @param {string} name the theme's name in the store
 */
export function usePageTheme(name) {
  return useMemo(() => readTheme(getComputedStyle(document.documentElement)), [name]);
}

/** @returns {Object} as `buildTheme` gives it */
export function useTheme() {
  return useContext(Theme);
}
