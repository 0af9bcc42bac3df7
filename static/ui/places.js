/** The pages there are, the one in sight marked. */

import { html } from "htm/preact";
import { under } from "../log/root.js";

const PLACES = [
  { id: "stage", name: "Stage", href: "/" },
  { id: "by-hand", name: "By hand", href: "/by-hand/a" },
  { id: "memory", name: "Memory", href: "/memory" },
  { id: "serving", name: "Serving", href: "/serving" },
  { id: "gallery", name: "Gallery", href: "/gallery" },
];

/**
 * @param {{here: string, alone?: boolean, run?: string|null, children?: *}} props `here`: id of the page; `alone`: there are no
 *   others; `run`: the one in sight, whose steps the page of memory shows; what is inside stands behind the name
 */
export function Places({ here, alone = false, run = null, children = null }) {
  return html`<nav class="places" aria-label="Pages">
    ${PLACES.map(({ id, name, href }) => {
      if (id === here) return html`<b key=${id} aria-current="page">${name}</b>${children}`;
      const address = under(run && id === "memory" ? `${href}?run=${run}` : href);
      return alone ? null : html`<a key=${id} href=${address}>${name}</a>`;
    })}
  </nav>`;
}
