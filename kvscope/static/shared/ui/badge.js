/** The origin of a number, as one word that the glossary defines. */

import { html } from "htm/preact";
import { msg } from "../words/msg.js";
import { useTerm } from "../words/term.js";

const LABELS = {
  measured: msg`measured`,
  disturbed: msg`disturbed`,
  computed: msg`computed`,
  estimated: msg`estimated`,
};

/** @param {{origin: "measured"|"disturbed"|"computed"|"estimated"}} props */
export function Badge({ origin }) {
  const { setOpen, props } = useTerm(origin);
  return html`<span class="badge" ...${props} onClick=${() => setOpen(true)}>${LABELS[origin]}</span>`;
}
