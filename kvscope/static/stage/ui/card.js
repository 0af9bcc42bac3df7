/** A card of the strip: heading, picture, a number with a sentence, and a button that opens the large view. */

import { html } from "htm/preact";
import { Badge } from "../../shared/ui/badge.js";
import { OpenView } from "./open-view.js";

/**
 * @param {Object} props
 * @param {string} props.name of the region
 * @param {*} [props.title] the heading; the name by default
 * @param {"measured"|"disturbed"|"computed"|"estimated"|null} [props.origin] the origin of its number
 * @param {string} [props.names] of the tensors it shows (lit.js)
 * @param {string} props.view the large view
 * @param {string} props.question that the large view answers
 * @param {Function|null} [props.dispatch] null if there is nothing to open yet
 * @param {*} props.number
 * @param {*} props.says the sentence
 * @param {*} props.children the picture
 */
export function Card({
  name,
  title = name,
  origin = null,
  names,
  view,
  question,
  dispatch = null,
  number,
  says,
  children,
}) {
  return html`<section class="card" aria-label=${name} data-names=${names}>
    <div class="card-head line on-line">
      <h2 class="cut">${title} ${origin && html`<${Badge} origin=${origin} />`}</h2>
      ${dispatch && html`<${OpenView} view=${view} dispatch=${dispatch}>${question}<//>`}
    </div>
    <div class="card-body">
      <div class="card-picture">${children}</div>
      <div class="card-told"><b class="card-number">${number}</b><p class="muted">${says}</p></div>
    </div>
  </section>`;
}
