/** The header of every page except the Stage: name, navigation, theme. */

import { html } from "htm/preact";
import { Places } from "./places.js";
import { ThemeButton } from "./theme-button.js";

/**
 * @param {{here: string|null, theme: "light"|"dark", setTheme: (theme: "light"|"dark") => void, alone?: boolean, openers?: *, children?: *}} props
 *   `here`: id of the page, null for a page outside the navigation; `alone`: no links to other pages; `openers`: after the navigation;
 *   `children`: before the buttons
 */
export function OwnHeader({ here, theme, setTheme, alone = false, openers = null, children = null }) {
  return html`<header class="header line is-own">
    <p class="wordmark">KV<span>Scope</span></p>
    <${Places} here=${here} alone=${alone} />
    ${openers}
    <div class="header-end line push">${children}<${ThemeButton} theme=${theme} dispatch=${({ theme: next }) => setTheme(next)} /></div>
  </header>`;
}
