/** The button in a strip panel that opens its large view. */

import { html } from "htm/preact";

/** @param {{view: string, name: string, dispatch: Function}} props `name`: what a screen reader says is opened */
export function OpenView({ view, name, dispatch }) {
  const open = () => {
    dispatch({ type: "select", selection: { view } });
    // Where panels stand one after the other, the inspector is out of sight.
    document.getElementById("panel-inspector").scrollIntoView({ block: "nearest", inline: "start" });
  };
  return html`<button type="button" class="panel-open" aria-label=${`Open ${name}`} onClick=${open}>Open</button>`;
}
