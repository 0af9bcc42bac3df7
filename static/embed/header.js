/** What an embed has in place of the page's header: the run's title and the way out, by link and by keyboard. */

import { html } from "htm/preact";
import { under } from "../shared/log/root.js";
import { addressOf } from "../shared/state/address.js";

const START = "embed-start";
const END = "embed-end";

export function EmbedHeader({ state }) {
  const { run, embed } = state;
  if (embed.hide.includes("header")) return null;
  const title = run?.saved?.title;
  return html`<header class="header line embed-header">
    <h1 class="cut" title=${title || null}>${title ? html`<bdi>${title}</bdi>` : "A recorded run"}</h1>
    <a href=${addressOf(state) ?? under(`/s/${run?.saved?.id ?? ""}`)} target="_blank" rel="noopener"
      >Open in KVScope<span aria-hidden="true"> ↗</span><span class="visually-hidden">, in a new tab</span></a
    >
  </header>`;
}

/** First in the order of the Tab key: an embed has a button for every token, and the page around goes on after them. */
export function SkipToEnd() {
  return html`<${Skip} id=${START} to=${END}>Skip to the end of this run<//>`;
}

/** Last in that order. */
export function SkipToStart() {
  return html`<${Skip} id=${END} to=${START}>Back to the start of this run<//>`;
}

/** Seen while it has the focus. */
function Skip({ id, to, children }) {
  return html`<button type="button" class="button skip-link" id=${id} onClick=${() => document.getElementById(to).focus()}>${children}</button>`;
}
