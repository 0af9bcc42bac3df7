/** The pages there are, the one in sight marked. */

import { html } from "htm/preact";

const PLACES = [
  { id: "stage", name: "Stage", href: "/" },
  { id: "by-hand", name: "By hand", href: "/by-hand/a" },
  { id: "memory", name: "Memory", href: "/memory" },
  { id: "gallery", name: "Gallery", href: "/gallery" },
];

/**
 * @param {{here: string, alone?: boolean, children?: *}} props `here`: id of the page; `alone`: there are no others; what is
 *   inside stands behind its name
 */
export function Places({ here, alone = false, children = null }) {
  return html`<nav class="places" aria-label="Pages">
    ${PLACES.map(({ id, name, href }) => {
      if (id === here) return html`<b key=${id} aria-current="page">${name}</b>${children}`;
      return alone ? null : html`<a key=${id} href=${href}>${name}</a>`;
    })}
  </nav>`;
}
