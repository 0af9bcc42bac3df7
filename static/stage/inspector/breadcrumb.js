/** Where the inspector is: the four zooms as a path whose every part is a way there, and the panels that open large. */

import { html } from "htm/preact";
import { PANEL_NAMES } from "../../shared/state/views.js";
import { untilPointerMoves } from "../../shared/ui/resting-pointer.js";

/** @param {{focus: Object, view: string, dispatch: Function}} props `focus` as `headFocus` gives it */
export function Breadcrumb({ focus, view, dispatch }) {
  const { layer, head } = focus;
  const part = (to, content) => {
    // Another view gives the map another width: it may come to lie under a pointer that points at nothing of it.
    const go = (event) => {
      untilPointerMoves(window, event);
      dispatch({ type: "select", selection: { view: to } });
    };
    return html`<button type="button" aria-current=${view === to ? "page" : undefined} onClick=${go}>${content}</button>`;
  };
  return html`<nav class="breadcrumb row between" aria-label="Zoom">
    <span class="crumbs nowrap">
      ${part("model", "Model")}<i> ▸ </i>${part("block", `Layer ${layer}`)}<i> ▸ </i>${part("head", `Head ${head}`)}<i> ▸ </i>${part("pair", "Query·key")}
    </span>
    <span class="crumb-panels nowrap">${Object.entries(PANEL_NAMES).map(([to, name]) => part(to, name))}</span>
  </nav>`;
}
