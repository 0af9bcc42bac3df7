/** On the page of a shared run: the way to delete it. Few ask for its dialog, so its code is fetched when somebody does. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";

/** @param {{id: string, client: Object}} props of a saved session */
export function DeleteSharedButton({ id, client }) {
  const [Dialog, setDialog] = useState(null);
  const [failed, setFailed] = useState(false);
  const open = async () => {
    const code = await import("./delete-shared-dialog.js").catch(() => null);
    setFailed(code === null);
    setDialog(() => code?.DeleteSharedDialog ?? null);
  };
  return html`<button type="button" class="delete-run muted saved-delete nowrap still" title="Delete this shared run: for whoever has its delete token" onClick=${open}>
      Delete…
    </button>
    ${failed && html`<span class="word-bad" role="alert">The server does not answer.</span>`}
    ${Dialog && html`<${Dialog} id=${id} client=${client} onClose=${() => setDialog(null)} />`}`;
}
