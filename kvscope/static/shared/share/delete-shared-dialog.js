/** Deletes a shared run from its own page, with the delete token that was shown when it was shared. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Form } from "../ui/form.js";
import { msg } from "../words/msg.js";
import { isToken } from "./sharing.js";

const WRONG_TOKEN = msg`This is not a delete token of this run.`;
const STILL_SHARED = msg`Your share was deleted, but this page stays: the same run was shared again with the same title and notes, under the same link. Only the last delete token removes it.`;
const [FORBIDDEN, GONE] = [403, 410];

/** @param {{id: string, client: Object, onClose: () => void}} props of a saved session */
export function DeleteSharedDialog({ id, client, onClose }) {
  const dialog = useRef(null);
  const field = useRef(null);
  const [token, setToken] = useState(() => client.tokenOf(id) ?? "");
  const [isStored] = useState(token !== "");
  const [refusal, setRefusal] = useState("");
  const [busy, setBusy] = useState(false);
  const [stillShared, setStillShared] = useState(false);
  useLayoutEffect(() => {
    dialog.current.showModal();
    field.current.focus();
  }, []);

  const remove = async () => {
    if (busy) return;
    setBusy(true);
    setRefusal("");
    const { problem, exists } = await withdrawn(id, token.trim(), client);
    // The server's page explains that the run was deleted.
    if (!problem && !exists) return window.location.reload();
    setBusy(false);
    setRefusal(problem ?? "");
    setStillShared(!problem);
  };

  return html`<dialog class="share popover" aria-labelledby="delete-shared-title" ref=${dialog} onClose=${onClose}>
    <div class="share-head line between">
      <h2 id="delete-shared-title">${msg`Delete this run`}</h2>
      <button class="button" type="button" onClick=${() => dialog.current.close()}>${msg`Close`}</button>
    </div>
    ${
      stillShared
        ? html`<p role="status">${STILL_SHARED}</p>`
        : html`<${Form} class="share-form stack wide" onSubmit=${remove}>
            <p class="muted">
              ${msg`Its link, its picture and its embeds stop working for everybody. This cannot be undone. Saved files still work, and the original run stays.`}
            </p>
            <label class="share-field stack tight">
              <span>${msg`Delete token`}</span>
              <input
                type="text" required dir="ltr" autocomplete="off" autocapitalize="off" spellcheck=${false} ref=${field} value=${token}
                aria-invalid=${refusal !== ""} aria-describedby="delete-shared-hint"
                onInput=${({ currentTarget }) => setToken(currentTarget.value)}
              />
            </label>
            <p class="muted small" id="delete-shared-hint">
              ${isStored ? msg`This browser shared the run and has stored its token.` : msg`The token was shown, with the link, when the run was shared.`}
            </p>
            ${refusal && html`<p class="word-bad" role="alert">${refusal} ${msg`Nothing was deleted.`}</p>`}
            <p class="share-actions share-row row between">
              <button class="button" type="submit" aria-disabled=${busy}>${busy ? msg`Deleting…` : msg`Delete it for everybody`}</button>
            </p>
          <//>`
    }
  </dialog>`;
}

/** @returns {Promise<{problem?: string, exists?: boolean}>} why nothing was deleted; else whether another share still needs the page */
async function withdrawn(id, token, client) {
  if (!isToken(token)) return { problem: WRONG_TOKEN };
  try {
    await client.withdraw(id, token);
  } catch ({ status, detail, title }) {
    if (status === GONE) return { exists: false };
    return { problem: status === FORBIDDEN ? WRONG_TOKEN : detail || title };
  }
  const exists = await client.manifest(id, {}).then(
    () => true,
    () => false,
  );
  return { exists };
}
