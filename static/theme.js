/** Light or dark: what the viewer chose before, else what the system prefers. */

const THEME_KEY = "kvscope.theme";

/** @returns {"light"|"dark"} */
export function preferredTheme(storage, systemIsDark) {
  const chosen = storage.getItem(THEME_KEY);
  if (chosen === "light" || chosen === "dark") return chosen;
  return systemIsDark ? "dark" : "light";
}

export function rememberTheme(storage, theme) {
  storage.setItem(THEME_KEY, theme);
}
