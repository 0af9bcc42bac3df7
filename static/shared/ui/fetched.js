/** A part of the page whose code is fetched when it is first shown. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";

/** @param {{of: () => Promise<Function>}} props `of` fetches the component, which gets all others */
export function Fetched({ of, ...props }) {
  const [Shown, setShown] = useState(null);
  useEffect(() => {
    of().then(
      (component) => setShown(() => component),
      () => setShown(() => NotFetched),
    );
  }, [of]);
  return Shown && html`<${Shown} ...${props} />`;
}

function NotFetched() {
  return html`<p role="alert">This could not be loaded: the server does not answer.</p>`;
}
