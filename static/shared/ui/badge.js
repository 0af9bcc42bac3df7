/** Where a number comes from, in one word that the glossary defines. */

import { html } from "htm/preact";
import { useTerm } from "../words/term.js";

/** Where a number comes from, defined in the glossary. @param {{origin: "measured"|"disturbed"|"computed"|"estimated"}} props */
export function Badge({ origin }) {
  const { setOpen, props } = useTerm(origin);
  return html`<span class="badge" ...${props} onClick=${() => setOpen(true)}>${origin}</span>`;
}
