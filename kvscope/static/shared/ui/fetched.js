/** A part of the page whose code is loaded when it is first shown. */

import { html } from "htm/preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { msg } from "../words/msg.js";

/**
 * @param {{of: () => Promise<Function>, waits?: string|null}} props `of` loads the component, which gets all other props; `waits`: the
 *   text shown until then, in a panel that would otherwise be empty
 */
export function Fetched({ of, waits = null, ...props }) {
  const [Shown, setShown] = useState(null);
  // Not an effect: code that is loaded already is shown in the same frame.
  useLayoutEffect(() => {
    of().then(
      (component) => setShown(() => component),
      () => setShown(() => NotFetched),
    );
  }, [of]);
  if (!Shown) return waits && html`<p class="empty muted centred" role="status">${waits}</p>`;
  return html`<${Shown} ...${props} />`;
}

function NotFetched() {
  return html`<p role="alert">${msg`This could not be loaded: the server does not respond.`}</p>`;
}
