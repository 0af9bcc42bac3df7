/** Opens the builder of an embed: what it shows, how it looks where it is put, and the text to paste there. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/**
 * The builder's code is fetched when it is asked for: few embed.
 *
 * @param {{id: string, title: string, moment: Object, class?: string}} props of a saved session; `moment`: what is in sight, of `momentOf`
 */
export function EmbedButton({ id, title, moment, class: className = null }) {
  const [opened, setOpened] = useState(null);
  const open = async () => {
    const code = await import("./builder.js").catch(() => null);
    setOpened({ Builder: code?.EmbedBuilder ?? NotFetched, moment });
  };
  return html`<button type="button" class=${className} onClick=${open}>Embed…</button>
    ${opened && html`<${EmbedDialog} id=${id} title=${title} ...${opened} onClose=${() => setOpened(null)} />`}`;
}

function EmbedDialog({ Builder, id, title, moment, onClose }) {
  const dialog = useRef(null);
  useLayoutEffect(() => dialog.current.showModal(), []);
  return html`<dialog class="share embed-dialog" aria-labelledby="embed-title" ref=${dialog} onClose=${onClose}>
    <div class="share-head">
      <h2 id="embed-title">Embed this run</h2>
      <button type="button" onClick=${() => dialog.current.close()}>Close</button>
    </div>
    <${Builder} id=${id} title=${title} moment=${moment} />
  </dialog>`;
}

function NotFetched() {
  return html`<p role="alert">The server was not reached. Close this and try again.</p>`;
}
