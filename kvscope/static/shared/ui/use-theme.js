/** The page’s colours, for drawings. */

import { createContext } from "preact";
import { useContext, useMemo } from "preact/hooks";
import { readTheme } from "../draw/theme.js";

/** Colours for drawings, for the whole page. */
export const Theme = createContext(null);

/**
 * Reads the colours from the page, again when its theme changes; the root element has the new theme before anything renders. Reading
 * makes the browser resolve all styles, so all drawings share one reading.
 *
 * @param {string} name the theme's name in the store
 */
export function usePageTheme(name) {
  return useMemo(() => readTheme(getComputedStyle(document.documentElement)), [name]);
}

/** @returns {Object} colours, as in shared/draw/theme.js */
export function useTheme() {
  return useContext(Theme);
}
