/** A request's letter on its hue. */

import { html } from "htm/preact";
import { letterOf, ownerClass } from "../owners.js";

/** @param {{request: number}} props */
export function Owner({ request }) {
  return html`<b class=${`owner small still ${ownerClass(request)}`}>${letterOf(request)}</b>`;
}
