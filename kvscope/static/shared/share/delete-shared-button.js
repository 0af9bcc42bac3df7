/** Deletes a shared run, on its page. The dialog is rarely used, so its code is loaded on the first press. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { msg } from "../words/msg.js";

/** @param {{id: string, client: Object}} props of a saved session */
export function DeleteSharedButton({ id, client }) {
  const [Dialog, setDialog] = useState(null);
  const [failed, setFailed] = useState(false);
  const open = async () => {
    const code = await import("./delete-shared-dialog.js").catch(() => null);
    setFailed(code === null);
    setDialog(() => code?.DeleteSharedDialog ?? null);
  };
  return html`<button type="button" class="delete-run muted saved-delete nowrap still" title=${msg`Delete this shared run. Needs its delete token.`} onClick=${open}>
      ${msg`Delete…`}
    </button>
    ${failed && html`<span class="word-bad" role="alert">${msg`The server does not respond.`}</span>`}
    ${Dialog && html`<${Dialog} id=${id} client=${client} onClose=${() => setDialog(null)} />`}`;
}
