/** Small pieces that every panel uses: an origin badge, a token, a tooltip. */

import { html } from "htm/preact";
import { tokenLabel, tokenText } from "../model/format.js";
import { Term, useTerm } from "./term.js";

/** Where a number comes from, defined in the glossary. @param {{origin: "measured"|"computed"|"estimated"}} props */
export function Badge({ origin }) {
  const { setOpen, props } = useTerm(origin);
  return html`<span class=${`badge badge-${origin}`} ...${props} onClick=${() => setOpen(true)}>${origin}</span>`;
}

/** A token's text, isolated from the direction of the text around it; cut when long, whole in its title. */
export function Token({ token, limit = 14, class: className = "" }) {
  const label = tokenLabel(token, limit);
  const whole = tokenText(token);
  return html`<bdi class=${`token ${className}`} title=${label === whole ? null : whole}>${label}</bdi>`;
}

/** Facts beside the pointer, kept inside the box they belong to. */
export function Tooltip({ at, box, title, value, notes }) {
  const side = at.x > box.width / 2 ? `right:${Math.max(0, box.width - at.x + 14)}px` : `left:${at.x + 14}px`;
  const level = at.y > box.height / 2 ? `bottom:${Math.max(0, box.height - at.y + 10)}px` : `top:${at.y + 14}px`;
  return html`<div class="tooltip" role="presentation" style=${`${side};${level}`}>
    <div class="tooltip-title">${title}</div>
    <div class="tooltip-value">${value} <${Badge} origin="computed" /></div>
    ${notes.map((note) => html`<div class="tooltip-note">${note}</div>`)}
  </div>`;
}

/**
 * One line of a panel: a name and its value. `term`: id in the glossary of what the name says; `origin` marks a line whose
 * origin is not the panel's own.
 */
export function Fact({ name, term = null, origin, hint = null, class: className = null, children }) {
  return html`<div>
    <dt>${term ? html`<${Term} id=${term}>${name}<//>` : name} ${origin && html`<${Badge} origin=${origin} />`}</dt>
    <dd class=${className} title=${hint}>${children}</dd>
  </div>`;
}
