/** A box with facts beside the pointer. */

import { html } from "htm/preact";
import { Badge } from "../../shared/ui/badge.js";

/** Placed at the pointer, on the side with more room, so that it stays inside its box. */
export function Tooltip({ at, box, title, value, notes }) {
  const side = at.x > box.width / 2 ? `right:${Math.max(0, box.width - at.x + 14)}px` : `left:${at.x + 14}px`;
  const level = at.y > box.height / 2 ? `bottom:${Math.max(0, box.height - at.y + 10)}px` : `top:${at.y + 14}px`;
  return html`<div class="tooltip untouched popover small" role="presentation" style=${`${side};${level}`}>
    <div class="strong">${title}</div>
    <div class="mono">${value} <${Badge} origin="computed" /></div>
    ${notes.map((note) => html`<div class="muted">${note}</div>`)}
  </div>`;
}
