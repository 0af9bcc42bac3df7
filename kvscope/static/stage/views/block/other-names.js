/** Names that readers know from other models, beside those of this layer. */

import { html } from "htm/preact";
import { otherNames } from "./name-words.js";

/** @param {{dims: Object}} props of `blockScene` */
export function OtherNames({ dims }) {
  return html`<p class="block-names muted">${otherNames(dims).join(" ")}</p>`;
}
