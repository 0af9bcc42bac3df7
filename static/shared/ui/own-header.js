/** The row on top of a page of its own: name, the pages there are, theme. */

import { html } from "htm/preact";
import { Places } from "./places.js";
import { ThemeButton } from "./theme-button.js";

/**
 * @param {{here: string|null, theme: "light"|"dark", setTheme: (theme: "light"|"dark") => void, alone?: boolean, openers?: *, children?: *}} props
 *   `here`: id of the page, null for one that is none of them; `alone`: there are no others; `openers` stand behind the pages; what is inside stands before the buttons
 */
export function OwnHeader({ here, theme, setTheme, alone = false, openers = null, children = null }) {
  return html`<header class="header line is-own">
    <p class="wordmark">KV<span>Scope</span></p>
    <${Places} here=${here} alone=${alone} />
    ${openers}
    <div class="header-end line push">${children}<${ThemeButton} theme=${theme} dispatch=${({ theme: next }) => setTheme(next)} /></div>
  </header>`;
}
