/** The link that was made, how to copy it, and how to take it back. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { SaveFile } from "../file/save-file.js";

const DELETED = "Deleted. The link opens no more, unless someone else has shared the very same run in the same words.";

/**
 * @param {{shared: {id: string, url: string, delete_token: string}, client: Object, onBack: (said: string) => void}} props
 *   `onBack`: to the form, which says `said`
 */
export function ShareLink({ shared, client, onBack }) {
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const first = useRef(null);
  useLayoutEffect(() => first.current.querySelector("input").select(), []);
  const withdraw = async () => {
    if (busy) return;
    setBusy(true);
    try {
      await client.withdraw(shared.id, shared.delete_token);
      onBack(DELETED);
    } catch ({ detail, title }) {
      setProblem(detail || title);
      setBusy(false);
    }
  };
  const link = new URL(shared.url, window.location.href).href;
  return html`<div class="share-form" ref=${first}>
    <p class="share-say" role="status">The link is made.</p>
    <${Copied} name="Link" value=${link} />
    <p class="share-row"><a href=${link} target="_blank" rel="noopener">Open it in a new tab</a></p>
    <fieldset>
      <legend>Save as a file</legend>
      <${SaveFile} id=${shared.id} client=${client} />
    </fieldset>
    <fieldset>
      <legend>Taking it back</legend>
      <p>Keep this delete token if you may want to delete the link later: it is the only key to that, and it is shown only this once.</p>
      <${Copied} name="Delete token" value=${shared.delete_token} />
      <p class="share-row"><button type="button" aria-disabled=${busy} onClick=${withdraw}>Delete this link</button></p>
      ${problem && html`<p class="share-problem" role="alert">${problem}</p>`}
    </fieldset>
    <p class="share-actions"><button type="button" onClick=${() => onBack("")}>Change the words and make another link</button></p>
  </div>`;
}

/** A field to copy from. Where the browser gives no clipboard, its text is marked, ready for the keys. */
export function Copied({ name, value }) {
  const [said, setSaid] = useState("");
  const field = useRef(null);
  const copy = async () => {
    field.current.select();
    try {
      await navigator.clipboard.writeText(value);
      setSaid("Copied");
    } catch {
      setSaid("Press Ctrl+C");
    }
  };
  return html`<div class="share-copy">
    <label class="share-field"><span>${name}</span><input type="text" readonly ref=${field} value=${value} /></label>
    <button type="button" onClick=${copy}>${said || "Copy"}<span class="visually-hidden"> ${name.toLowerCase()}</span></button>
    <span class="visually-hidden" role="status">${said}</span>
  </div>`;
}
