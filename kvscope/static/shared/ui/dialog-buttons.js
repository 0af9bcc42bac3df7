/** The buttons that open the search and the help, in the header of every page. */

import { html } from "htm/preact";
import { msg } from "../words/msg.js";
import { Icon } from "./icons.js";

export function SearchButton({ onClick }) {
  return html`<button class="icon-button muted still" type="button" aria-label=${msg`Search`} title=${msg`Search: the / key`} onClick=${onClick}><${Icon} name="search" /></button>`;
}

export function HelpButton({ onClick }) {
  return html`<button class="icon-button muted still" type="button" aria-label=${msg`Help`} title=${msg`Keys and glossary`} onClick=${onClick}>?</button>`;
}
