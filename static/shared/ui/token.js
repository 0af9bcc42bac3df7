/** A token’s text among other words. */

import { html } from "htm/preact";
import { tokenLabel, tokenText } from "../facts/format.js";

/** What was selected in it was meant to be copied: letting go of the mouse presses nothing. */
function leaveSelected(event) {
  const selection = window.getSelection();
  if (!selection.isCollapsed && selection.containsNode(event.currentTarget, true)) event.stopPropagation();
}

/** A token's text, isolated from the direction of the text around it; cut when long, whole in its title. */
export function Token({ token, limit = 14, class: className = "" }) {
  const label = tokenLabel(token, limit);
  const whole = tokenText(token);
  return html`<bdi class=${`token ${className}`} title=${label === whole ? null : whole} onClick=${leaveSelected}>${label}</bdi>`;
}
