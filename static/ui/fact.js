/** A line of a panel. */

import { html } from "htm/preact";
import { Term } from "../words/term.js";
import { Badge } from "./badge.js";

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
