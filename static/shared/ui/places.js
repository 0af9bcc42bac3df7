/** The pages there are, the one in sight marked; behind a button where there is no room for their names. */

import { html } from "htm/preact";
import { useRef, useState } from "preact/hooks";
import { under } from "../log/root.js";
import { jsonOf } from "../state/bootstrap.js";
import { Icon } from "./icons.js";
import { useOpened } from "./use-opened.js";

/**
 * @param {{here: string|null, alone?: boolean, run?: string|null, folded?: boolean, children?: *}} props `here`: id of the page, null for
 *   one that is none of them; `alone`: there are no others; `run`: the one in sight, whose steps the page of memory shows; `folded`: behind
 *   the button on every screen, and not only where style sheets say so; what is inside stands behind the name
 */
export function Places({ here, alone = false, run = null, folded = false, children = null }) {
  const root = useRef(null);
  const [pages] = useState(() => jsonOf("pages")); // the table of them, static/pages.json
  const [open, setOpen, onKeyDown] = useOpened(root);
  return html`<div class=${`pages still${folded ? " is-folded" : ""}${open ? " is-open" : ""}`} ref=${root} onKeyDown=${onKeyDown}>
    <button
      class="button pages-button" type="button" aria-label="Pages" title="Pages" aria-expanded=${open} aria-controls="places"
      onClick=${() => setOpen(!open)}
    ><${Icon} name="menu" /><span>Pages</span></button>
    <nav class="places line" id="places" aria-label="Pages" onClick=${() => setOpen(false)}>
      ${pages.map(({ id, name, address }) => {
        if (id === here) return html`<b key=${id} aria-current="page">${name}</b>${children}`;
        const to = under(run && id === "memory" ? `${address}?run=${run}` : address);
        return alone ? null : html`<a key=${id} href=${to}>${name}</a>`;
      })}
    </nav>
  </div>`;
}
