/** Light or dark: what a page around asks for, else what the viewer chose before, else what the system prefers. */

export const THEMES = ["light", "dark"];
const THEME_KEY = "kvscope.theme";

/**
 * @param {{getItem: Function}} storage of the device
 * @param {boolean} systemIsDark
 * @param {"auto"|"light"|"dark"|null} [asked] by the page around; what the viewer chose for KVScope itself has no say there
 * @returns {"light"|"dark"}
 */
export function firstTheme(storage, systemIsDark, asked = null) {
  const chosen = asked ?? storage.getItem(THEME_KEY);
  if (THEMES.includes(chosen)) return chosen;
  return systemIsDark ? "dark" : "light";
}

export function rememberTheme(storage, theme) {
  storage.setItem(THEME_KEY, theme);
}

/** @returns {MediaQueryList} whether the system prefers dark */
export const systemDark = () => window.matchMedia("(prefers-color-scheme: dark)");
