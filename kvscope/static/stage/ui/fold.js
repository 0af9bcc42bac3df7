/** A collapsed part of the page. Its code and data are loaded when it is opened. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Fetched } from "../../shared/ui/fetched.js";

/**
 * @param {{class: string, name: string, names?: string, of: () => Promise<Function>}} props `names`: for `data-names` (ui/lit.js); `of` as
 *   in `Fetched`; the component gets all other props
 */
export function Fold({ class: className, name, names, of, ...props }) {
  const [open, setOpen] = useState(false);
  return html`<details class=${`fold ${className}`} data-names=${names} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>${name}</summary>
    ${open && html`<${Fetched} of=${of} ...${props} />`}
  </details>`;
}
