/** The button in a strip panel that opens its large view. */

import { html } from "htm/preact";
import { bringIntoSight } from "./in-sight.js";

/** @param {{view: string, dispatch: Function, children: string}} props `children`: the question that the large view answers */
export function OpenView({ view, dispatch, children }) {
  const open = () => {
    dispatch({ type: "select", selection: { view } });
    bringIntoSight(document.getElementById("panel-inspector"));
  };
  return html`<button type="button" class="panel-open still word-cached" onClick=${open}>${children}</button>`;
}
