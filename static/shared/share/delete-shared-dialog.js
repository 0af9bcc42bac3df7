/** Deletes a shared run from its own page, by the token that sharing it gave. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isToken } from "./sharing.js";

const NOT_A_TOKEN = "That is not a token of this run.";
const OTHERS =
  "Your link is taken back, but this page stays: the very same run was shared in the same words once more, and that link is the same. It " +
  "is gone with the last of its tokens.";
const [FORBIDDEN, GONE] = [403, 410];

/** @param {{id: string, client: Object, onClose: () => void}} props of a saved session */
export function DeleteSharedDialog({ id, client, onClose }) {
  const dialog = useRef(null);
  const field = useRef(null);
  const [token, setToken] = useState(() => client.tokenOf(id) ?? "");
  const [kept] = useState(token);
  const [refusal, setRefusal] = useState("");
  const [busy, setBusy] = useState(false);
  const [left, setLeft] = useState(false);
  useLayoutEffect(() => {
    dialog.current.showModal();
    field.current.focus();
  }, []);

  const remove = async (event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setRefusal("");
    const { refusal: said, there } = await withdrawn(id, token.trim(), client);
    // Of a link whose run is gone the server says to everybody what became of it.
    if (!said && !there) return window.location.reload();
    setBusy(false);
    setRefusal(said ?? "");
    setLeft(!said);
  };

  return html`<dialog class="share popover" aria-labelledby="delete-shared-title" ref=${dialog} onClose=${onClose}>
    <div class="share-head line between">
      <h2 id="delete-shared-title">Delete this run</h2>
      <button class="button" type="button" onClick=${() => dialog.current.close()}>Close</button>
    </div>
    ${
      left
        ? html`<p role="status">${OTHERS}</p>`
        : html`<form class="share-form stack wide" onSubmit=${remove}>
            <p class="muted">
              Its link, its picture and every page it is embedded in stop showing it, for everybody and for good. Files that were saved of it still
              play, and the run it was made of stays.
            </p>
            <label class="share-field stack tight">
              <span>Delete token</span>
              <input
                type="text" required dir="ltr" autocomplete="off" autocapitalize="off" spellcheck=${false} ref=${field} value=${token}
                aria-invalid=${refusal !== ""} aria-describedby="delete-shared-hint"
                onInput=${({ currentTarget }) => setToken(currentTarget.value)}
              />
            </label>
            <p class="muted small" id="delete-shared-hint">
              ${kept ? "This browser shared it, and kept the token." : "Whoever shared it was shown the token, with the link."}
            </p>
            ${refusal && html`<p class="word-bad" role="alert">${refusal} Nothing was deleted.</p>`}
            <p class="share-actions share-row row between">
              <button class="button" type="submit" aria-disabled=${busy}>${busy ? "Deleting…" : "Delete it for everybody"}</button>
            </p>
          </form>`
    }
  </dialog>`;
}

/** @returns {Promise<{refusal?: string, there?: boolean}>} why nothing was deleted; otherwise whether another sharing keeps it there */
async function withdrawn(id, token, client) {
  if (!isToken(token)) return { refusal: NOT_A_TOKEN };
  try {
    await client.withdraw(id, token);
  } catch ({ status, detail, title }) {
    if (status === GONE) return { there: false };
    return { refusal: status === FORBIDDEN ? NOT_A_TOKEN : detail || title };
  }
  const there = await client.manifest(id, {}).then(
    () => true,
    () => false,
  );
  return { there };
}
