/** Navigation between pages; behind a button where there is no space for their names. */

import { html } from "htm/preact";
import { useRef, useState } from "preact/hooks";
import { under } from "../log/root.js";
import { jsonOf } from "../state/bootstrap.js";
import { msg } from "../words/msg.js";
import { Icon } from "./icons.js";
import { useOpened } from "./use-opened.js";

/**
 * @param {{here: string|null, alone?: boolean, run?: string|null, folded?: boolean, children?: *}} props `here`: id of the page, null for
 *   a page outside the navigation; `alone`: no links to other pages; `run`: the current run, whose steps the Memory page shows; `folded`:
 *   behind the button on every screen, not only on small ones; `children`: after the name of the current page
 */
export function Places({ here, alone = false, run = null, folded = false, children = null }) {
  const root = useRef(null);
  const [pages] = useState(() => jsonOf("pages")); // static/pages.json
  const [open, setOpen, onKeyDown] = useOpened(root);
  return html`<div class=${`pages still${folded ? " is-folded" : ""}${open ? " is-open" : ""}`} ref=${root} onKeyDown=${onKeyDown}>
    <button
      class="button pages-button" type="button" aria-label=${msg`Pages`} title=${msg`Pages`} aria-expanded=${open} aria-controls="places"
      onClick=${() => setOpen(!open)}
    ><${Icon} name="menu" /><span>${msg`Pages`}</span></button>
    <nav class="places line" id="places" aria-label=${msg`Pages`} onClick=${() => setOpen(false)}>
      ${pages.map(({ id, name, address }) => {
        if (id === here) return html`<b key=${id} aria-current="page">${name}</b>${children}`;
        const to = under(run && id === "memory" ? `${address}?run=${run}` : address);
        return alone ? null : html`<a key=${id} href=${to}>${name}</a>`;
      })}
    </nav>
  </div>`;
}
