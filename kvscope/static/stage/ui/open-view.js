/** The button in a card that opens its large view, and scrolls to it where panels are stacked or shown one at a time. */

import { html } from "htm/preact";

/** @param {{view: string, dispatch: Function, children: string}} props `children`: the question that the large view answers */
export function OpenView({ view, dispatch, children }) {
  const open = () => {
    dispatch({ type: "select", selection: { view } });
    bringIntoSight(document.getElementById("panel-inspector"));
  };
  return html`<button type="button" class="panel-open still word-cached" onClick=${open}>${children}</button>`;
}

/** @param {HTMLElement} panel the page does not scroll if the top of the panel is in the upper half of the window */
export function bringIntoSight(panel) {
  const { left, top } = panel.getBoundingClientRect();
  const begins = left >= 0 && left < window.innerWidth && top >= 0 && top < window.innerHeight / 2;
  if (!begins) panel.scrollIntoView({ block: "nearest", inline: "start" });
}
