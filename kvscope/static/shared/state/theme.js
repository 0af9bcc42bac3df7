/** Light or dark: the choice of the surrounding page, else the viewer's earlier choice, else the system's preference. */

export const THEMES = ["light", "dark"];
const THEME_KEY = "kvscope.theme";

/**
 * @param {{getItem: Function}} storage of the device
 * @param {boolean} systemIsDark
 * @param {"auto"|"light"|"dark"|null} [override] of the surrounding page; it overrides the viewer's choice for KVScope itself
 * @returns {"light"|"dark"}
 */
export function firstTheme(storage, systemIsDark, override = null) {
  const chosen = override ?? storage.getItem(THEME_KEY);
  if (THEMES.includes(chosen)) return chosen;
  return systemIsDark ? "dark" : "light";
}

export function rememberTheme(storage, theme) {
  storage.setItem(THEME_KEY, theme);
}

/** @returns {MediaQueryList} whether the system prefers dark */
export const systemDark = () => window.matchMedia("(prefers-color-scheme: dark)");
