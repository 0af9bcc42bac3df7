/** The place of the panel with the code, below the page. Its code is loaded when it is first opened. */

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { msg } from "../words/msg.js";

/** Who is at its button is about to open it. */
const WAYS = ["pointerover", "focusin"];

/** @param {{open: boolean, onToggle: () => void, class?: string}} props */
export function CodeButton({ open, onToggle, class: name = "" }) {
  return html`<button type="button" class=${`opens-code ${name}`} aria-pressed=${open} title=${msg`This step’s computation in PyTorch (c)`} onClick=${onToggle}>${msg`Code`}</button>`;
}

/** @param {{open: boolean, load: () => void, children: *}} props `load`: the panel’s code and the source */
export function CodeDock({ open, load, children }) {
  useEffect(() => {
    const begin = ({ target }) => target.closest(".opens-code") && load();
    for (const way of WAYS) document.addEventListener(way, begin);
    return () => {
      for (const way of WAYS) document.removeEventListener(way, begin);
    };
  }, [load]);
  return open && html`<div class="code-dock" id="code-dock">${children}</div>`;
}
