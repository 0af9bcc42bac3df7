/** Switches between the light and the dark theme. */

import { html } from "htm/preact";
import { msg } from "../words/msg.js";
import { Icon } from "./icons.js";

/** @param {{theme: "light"|"dark", dispatch: Function}} props */
export function ThemeButton({ theme, dispatch }) {
  const dark = theme === "dark";
  return html`<button
    class="icon-button muted still" type="button" aria-label=${dark ? msg`Light theme` : msg`Dark theme`}
    onClick=${() => dispatch({ type: "theme", theme: dark ? "light" : "dark" })}
  ><${Icon} name=${dark ? "sun" : "moon"} /></button>`;
}
