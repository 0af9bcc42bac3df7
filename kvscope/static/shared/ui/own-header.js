/** The header of every page except the Stage: name, navigation, search, theme, help. */

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { DIALOG_KEYS } from "../state/dialog-keys.js";
import { listenToKeys } from "../state/listen-to-keys.js";
import { HelpButton, SearchButton } from "./dialog-buttons.js";
import { openHelp, openSearch } from "./overlay.js";
import { Places } from "./places.js";
import { ThemeButton } from "./theme-button.js";

/** @type {{label: string, text: string}[]} */
const NO_KEYS = [];

/**
 * @param {{here: string|null, theme: "light"|"dark", setTheme: (theme: "light"|"dark") => void, alone?: boolean, keys?: {label: string,
 *   text: string}[], openers?: *, children?: *}} props
 *   `here`: id of the page, null for a page outside the navigation; `alone`: no links to other pages; `keys`: the page's keys, for its help;
 *   `openers`: shown after the navigation; `children`: shown before the buttons
 */
export function OwnHeader({ here, theme, setTheme, alone = false, keys = NO_KEYS, openers = null, children = null }) {
  const help = () => openHelp({ keys: [...keys, ...DIALOG_KEYS] });
  useEffect(() => listenToKeys(window, { openSearch, openHelp: help }, DIALOG_KEYS), [keys]);
  return html`<header class="header line is-own">
    <p class="wordmark">KV<span>Scope</span></p>
    <${Places} here=${here} alone=${alone} />
    ${openers}
    <div class="header-end line push">
      ${children}
      <${SearchButton} onClick=${openSearch} />
      <${ThemeButton} theme=${theme} dispatch=${({ theme: next }) => setTheme(next)} />
      <${HelpButton} onClick=${help} />
    </div>
  </header>`;
}
