/** The button in a strip panel that opens its large view. */

import { html } from "htm/preact";

/** @param {{view: string, dispatch: Function, children: string}} props `children`: what the large view answers */
export function OpenView({ view, dispatch, children }) {
  const open = () => {
    dispatch({ type: "select", selection: { view } });
    // Where panels stand one after the other, the inspector is out of sight.
    document.getElementById("panel-inspector").scrollIntoView({ block: "nearest", inline: "start" });
  };
  return html`<button type="button" class="panel-open" onClick=${open}>${children}</button>`;
}
