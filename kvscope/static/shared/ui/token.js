/** A token's text inside a sentence. */

import { html } from "htm/preact";
import { tokenLabel, tokenText } from "../facts/format.js";

/** Releasing the mouse after selecting the token's text is no click: the reader wants to copy it. */
function ignoreSelection(event) {
  const selection = window.getSelection();
  if (!selection.isCollapsed && selection.containsNode(event.currentTarget, true)) event.stopPropagation();
}

/** Isolated from the text direction around it; a long text is cut, with the whole text in `title`. */
export function Token({ token, limit = 14, class: className = "" }) {
  const label = tokenLabel(token, limit);
  const whole = tokenText(token);
  return html`<bdi class=${`token ${className}`} title=${label === whole ? null : whole} onClick=${ignoreSelection}>${label}</bdi>`;
}
