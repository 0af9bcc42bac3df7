/** A card of the strip: what it is about, one picture, one number with a sentence, and the way to all the rest. */

import { html } from "htm/preact";
import { Badge } from "./badge.js";
import { OpenView } from "./open-view.js";

/**
 * @param {Object} props
 * @param {string} props.name as the region is called
 * @param {*} [props.title] what stands as the heading, the name where it is not given
 * @param {"measured"|"disturbed"|"computed"|"estimated"|null} [props.origin] where its number comes from
 * @param {string} props.view the large view
 * @param {string} props.question what that answers
 * @param {Function|null} [props.dispatch] null: there is nothing to open yet
 * @param {*} props.number
 * @param {*} props.says
 * @param {*} props.children the picture
 */
export function Card({ name, title = name, origin = null, view, question, dispatch = null, number, says, children }) {
  return html`<section class="card" aria-label=${name}>
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
