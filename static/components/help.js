/** The list of keys. */

import { html } from "htm/preact";
import { KEYS } from "../keyboard.js";

export function Help() {
  return html`
    <dialog id="help" class="help" aria-label="Keys">
      <h2>Keys</h2>
      <dl>
        ${KEYS.map(
          ({ label, text }) => html`
            <dt><kbd>${label}</kbd></dt>
            <dd>${text}</dd>
          `,
        )}
      </dl>
      <form method="dialog"><button>Close</button></form>
    </dialog>
  `;
}
