/** Opens the embed builder: what the embed shows, how it looks, and the text to paste. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Fetched } from "../../shared/ui/fetched.js";
import { msg } from "../../shared/words/msg.js";

/** Loaded on demand: few visitors embed a run. */
const BUILDER = async () => (await import("./builder.js")).EmbedBuilder;

/** @param {{id: string, title: string, moment: Object, class?: string}} props of a saved session; `moment`: of `momentOf` */
export function EmbedButton({ id, title, moment, class: className = null }) {
  const [opened, setOpened] = useState(null);
  return html`<button type="button" class=${className} onClick=${() => setOpened(moment)}>${msg`Embed…`}</button>
    ${opened && html`<${EmbedDialog} id=${id} title=${title} moment=${opened} onClose=${() => setOpened(null)} />`}`;
}

function EmbedDialog({ id, title, moment, onClose }) {
  const dialog = useRef(null);
  useLayoutEffect(() => dialog.current.showModal(), []);
  return html`<dialog class="share popover embed-dialog" aria-labelledby="embed-title" ref=${dialog} onClose=${onClose}>
    <div class="share-head line between">
      <h2 id="embed-title">${msg`Embed this run`}</h2>
      <button class="button" type="button" onClick=${() => dialog.current.close()}>${msg`Close`}</button>
    </div>
    <${Fetched} of=${BUILDER} id=${id} title=${title} moment=${moment} />
  </dialog>`;
}
