/** Where the inspector is: the four zooms as a path whose every part is a way there, and the panels that open large. */

import { html } from "htm/preact";
import { PANEL_NAMES } from "../state/views.js";
import { Token } from "../ui/token.js";

/** @param {{run: Object, focus: Object, view: string, dispatch: Function}} props `focus` as `headFocus` gives it */
export function Breadcrumb({ run, focus, view, dispatch }) {
  const { layer, head, query, key, preview } = focus;
  const go = (to) => dispatch({ type: "select", selection: { view: to } });
  const token = (position) => html`<${Token} token=${run.tokens[position]} limit=${8} />`;
  const part = (to, content) =>
    html`<button type="button" aria-current=${view === to ? "page" : undefined} onClick=${() => go(to)}>${content}</button>`;
  return html`<nav class="breadcrumb" aria-label="Zoom">
    <span class="crumbs">
      ${part("model", "Model")} <i>▸</i> ${part("block", `Layer ${layer}`)} <i>▸</i> ${part("head", `Head ${head}`)}
      ${" "}<i>▸</i>${" "}
      ${part("pair", key === null ? "Query → key" : html`${token(query)} → ${token(key)}`)}
      ${preview && html`<span class="preview">preview: click to keep</span>`}
    </span>
    <span class="crumb-panels">${Object.entries(PANEL_NAMES).map(([to, name]) => part(to, name))}</span>
  </nav>`;
}
