/** The panel beside the picture; on a phone a sheet below it, which folds. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { msg } from "../shared/words/msg.js";

/** @param {{name: string, children: *}} props */
export function Sheet({ name, children }) {
  const [folded, setFolded] = useState(false);
  return html`<aside class="room-panel stack wide" aria-label=${name} data-folded=${folded || null}>
    <button type="button" class="room-fold button is-quiet" aria-expanded=${!folded} onClick=${() => setFolded(!folded)}>${folded ? msg`Show the question` : msg`Show the whole picture`}</button>
    <div class="room-panel-inside stack wide">${children}</div>
  </aside>`;
}
