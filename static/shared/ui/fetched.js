/** A part of the page whose code is loaded when it is first shown. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { msg } from "../words/msg.js";

/** @param {{of: () => Promise<Function>}} props `of` loads the component, which gets all other props */
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
  return html`<p role="alert">${msg`This could not be loaded: the server does not respond.`}</p>`;
}
