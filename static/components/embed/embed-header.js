/** What an embed has in place of the page's header: the run's title and the way out, by link and by keyboard. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { addressOf } from "../../address.js";

const END = "embed-end";

export function EmbedHeader({ state }) {
  const { run, embed } = state;
  if (embed.hide.includes("header")) return null;
  const title = run?.saved?.title;
  return html`<header class="header embed-header">
    <h1 title=${title || null}>${title ? html`<bdi>${title}</bdi>` : "A recorded run"}</h1>
    <a href=${addressOf(state) ?? `/s/${run?.saved?.id ?? ""}`} target="_blank" rel="noopener"
      >Open in KVScope<span aria-hidden="true"> ↗</span><span class="visually-hidden">, in a new tab</span></a
    >
  </header>`;
}

/** First in the order of the Tab key: an embed has a button for every token, and the page around goes on after it. */
export function SkipLink() {
  return html`<button type="button" class="skip-link" onClick=${() => document.getElementById(END).focus()}>
    Skip this run: Tab then goes on after it
  </button>`;
}

/** Last in the order of the Tab key. */
export function SkipTarget() {
  const target = useRef(null);
  return html`<div id=${END} ref=${target} tabindex="-1"></div>`;
}
