/** The keys, and every term with its definition. */

import { html } from "htm/preact";
import { useContext } from "preact/hooks";
import { KEYS } from "../keyboard.js";
import { Glossary } from "./term.js";

export function Help() {
  const terms = Object.values(useContext(Glossary)).sort((a, b) => a.name.localeCompare(b.name, "en"));
  return html`
    <dialog id="help" class="help" aria-label="Help">
      <form method="dialog"><button>Close</button></form>
      <h2>Keys</h2>
      <dl>
        ${KEYS.map(
          ({ label, text }) => html`
            <dt><kbd>${label}</kbd></dt>
            <dd>${text}</dd>
          `,
        )}
      </dl>
      <h2>Glossary</h2>
      <dl class="glossary">
        ${terms.map(
          ({ name, text }) => html`
            <dt>${name}</dt>
            <dd>${text}</dd>
          `,
        )}
      </dl>
    </dialog>
  `;
}
