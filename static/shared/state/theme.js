/** Light or dark: what the viewer chose before, else what the system prefers. */

export const THEMES = ["light", "dark"];
const THEME_KEY = "kvscope.theme";

/** @returns {"light"|"dark"} */
export function preferredTheme(storage, systemIsDark) {
  const chosen = storage.getItem(THEME_KEY);
  if (THEMES.includes(chosen)) return chosen;
  return systemIsDark ? "dark" : "light";
}

/**
 * @param {"auto"|"light"|"dark"} asked by the page around an embed; what the viewer chose for KVScope itself has no say there
 * @returns {"light"|"dark"}
 */
export function embeddedTheme(asked, systemIsDark) {
  if (asked !== "auto") return asked;
  return systemIsDark ? "dark" : "light";
}

export function rememberTheme(storage, theme) {
  storage.setItem(THEME_KEY, theme);
}
