/** The row on top of a page of its own: name, the pages there are, theme. */

import { html } from "htm/preact";
import { Places } from "./places.js";
import { ThemeButton } from "./theme-button.js";

/** @param {{here: string, theme: "light"|"dark", setTheme: (theme: "light"|"dark") => void}} props `here`: id of the page */
export function OwnHeader({ here, theme, setTheme }) {
  return html`<header class="header is-own">
    <p class="wordmark">KV<span>Scope</span></p>
    <${Places} here=${here} />
    <div class="header-end"><${ThemeButton} theme=${theme} dispatch=${({ theme: next }) => setTheme(next)} /></div>
  </header>`;
}
