/** A part of the page whose code is loaded when it is first shown. */

import { html } from "htm/preact";
import { useFetched } from "../loading/use-fetched.js";
import { msg } from "../words/msg.js";

/**
 * @param {{of: () => Promise<Function>, waits?: string|null}} props `of` loads the component, which gets all other props; `waits`: the
 *   text shown until then, in a panel that would otherwise be empty
 */
export function Fetched({ of, waits = null, ...props }) {
  const { value: Shown, failed } = useFetched(of);
  if (failed) return html`<p role="alert">${msg`This could not be loaded: the server does not respond.`}</p>`;
  if (!Shown) return waits && html`<p class="empty muted centred" role="status">${waits}</p>`;
  return html`<${Shown} ...${props} />`;
}
