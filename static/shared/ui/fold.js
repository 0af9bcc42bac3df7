/** A collapsed part of the page. Its code and data are loaded when it is opened. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Fetched } from "./fetched.js";

/** @param {{class: string, name: string, of: () => Promise<Function>}} props `of` as in `Fetched`; the component gets all other props */
export function Fold({ class: className, name, of, ...props }) {
  const [open, setOpen] = useState(false);
  return html`<details class=${`fold ${className}`} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>${name}</summary>
    ${open && html`<${Fetched} of=${of} ...${props} />`}
  </details>`;
}
