/** The header of an embed: the run's title, a link to the whole page, and links that skip the run for keyboard users. */

import { html } from "htm/preact";
import { under } from "../../shared/log/root.js";
import { msg } from "../../shared/words/msg.js";
import { addressOf } from "../state/address.js";

const START = "embed-start";
const END = "embed-end";

export function EmbedHeader({ state }) {
  const { run, embed } = state;
  if (embed.hide.includes("header")) return null;
  const title = run?.saved?.title;
  return html`<header class="header line embed-header">
    <h1 class="cut" title=${title || null}>${title ? html`<bdi>${title}</bdi>` : msg`A recorded run`}</h1>
    <a href=${addressOf(state) ?? under(`/s/${run?.saved?.id ?? ""}`)} target="_blank" rel="noopener"
      >${msg`Open in KVScope`}<span aria-hidden="true"> ↗</span><span class="visually-hidden">, ${msg`in a new tab`}</span></a
    >
  </header>`;
}

/** The first tab stop: an embed has a button for every token, and the surrounding page continues after them. */
export function SkipToEnd() {
  return html`<${Skip} id=${START} to=${END}>${msg`Skip to the end of this run`}<//>`;
}

/** The last tab stop. */
export function SkipToStart() {
  return html`<${Skip} id=${END} to=${START}>${msg`Back to the start of this run`}<//>`;
}

/** Visible while it has the focus. */
function Skip({ id, to, children }) {
  return html`<button type="button" class="button skip-link" id=${id} onClick=${() => document.getElementById(to).focus()}>${children}</button>`;
}
