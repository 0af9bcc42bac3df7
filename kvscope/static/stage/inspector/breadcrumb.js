/** The inspector's navigation: the four zooms as a path, and the panels that can be opened large. */

import { html } from "htm/preact";
import { CodeButton } from "../../shared/code/code-dock.js";
import { PANEL_NAMES, TABBED } from "../../shared/state/views.js";
import { msg } from "../../shared/words/msg.js";

/**
 * @param {{focus: Object, view: string, code: boolean|null, dispatch: Function, children?: *}} props `focus` from `headFocus`; `code`: its
 *   panel is open; null: there is none; `children`: what can be done with the zoom
 */
export function Breadcrumb({ focus, view, code, dispatch, children = null }) {
  const { layer, head } = focus;
  const part = (to, content) => {
    // Another view changes the map's width, which may put it under a pointer that was not meant for it.
    const go = (event) => {
      untilPointerMoves(window, event);
      dispatch({ type: "select", selection: { view: to } });
    };
    return html`<button type="button" aria-current=${view === to ? "page" : undefined} onClick=${go}>${content}</button>`;
  };
  return html`<nav class="breadcrumb row between" aria-label=${msg`Zoom`}>
    <span class="crumbs nowrap">
      ${part("model", msg`Model`)}<i> ▸ </i>${part("block", msg`Layer ${layer}`)}<i> ▸ </i>${part("head", msg`Head ${head}`)}<i> ▸ </i>${part("pair", msg`Query·key`)}
    </span>
    <span class="crumb-ends nowrap">
      ${Object.entries(PANEL_NAMES).map(
        ([to, name]) =>
          html`<span key=${to} class=${TABBED.includes(to) ? "crumb-tabbed" : "crumb-panel"}>${part(to, name)}</span>`,
      )}
      ${code !== null && html`<${CodeButton} open=${code} onToggle=${() => dispatch({ type: "code", open: !code })} />`}
      ${children}
    </span>
  </nav>`;
}

const POINTING = ["pointermove", "pointerover", "pointerenter", "mousemove", "mouseover"];

/**
 * Suppresses the pointer events that a browser sends when the page moves under a resting pointer, until the pointer moves.
 *
 * @param {Window} window
 * @param {{clientX: number, clientY: number}} at where the pointer rests
 */
function untilPointerMoves(window, { clientX, clientY }) {
  const listen = { capture: true };
  const end = () => {
    for (const name of POINTING) window.removeEventListener(name, onPointer, listen);
  };
  const onPointer = (event) => {
    if (event.clientX === clientX && event.clientY === clientY) event.stopImmediatePropagation();
    else end();
  };
  for (const name of POINTING) window.addEventListener(name, onPointer, listen);
}
