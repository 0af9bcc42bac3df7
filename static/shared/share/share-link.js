/** The link that was made, how to copy it, and how to take it back. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { SaveFile } from "../files/save-file.js";
import { linkTo } from "../log/root.js";
import { Copied } from "../ui/copied.js";

const DELETED = "Deleted. The link opens no more, unless someone else has shared the very same run in the same words.";

/**
 * @param {{shared: {id: string, delete_token: string}, title: string, moment: Object, Embed: Function,
 *   client: Object, onBack: (said: string) => void}} props `title`, `moment`: of the session; `Embed`: how it is put into another page;
 *   `onBack`: to the form, which says `said`
 */
export function ShareLink({ shared, title, moment, Embed, client, onBack }) {
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
  const link = linkTo(`/s/${shared.id}`);
  return html`<div class="share-form stack wide" ref=${first}>
    <p class="muted" role="status">The link is made.</p>
    <${Copied} name="Link" value=${link} />
    <div class="share-row row between">
      <a href=${link} target="_blank" rel="noopener">Open it in a new tab</a>
      <${Embed} id=${shared.id} title=${title} moment=${moment} />
    </div>
    <fieldset>
      <legend>Save as a file</legend>
      <${SaveFile} id=${shared.id} client=${client} />
    </fieldset>
    <fieldset>
      <legend>Taking it back</legend>
      <p>
        This browser can delete the run later, on the page of the link. From anywhere else its delete token is the only key to that, and it is
        shown only this once.
      </p>
      <${Copied} name="Delete token" value=${shared.delete_token} />
      <p class="share-row row between"><button class="button" type="button" aria-disabled=${busy} onClick=${withdraw}>Delete this link</button></p>
      ${problem && html`<p class="word-bad" role="alert">${problem}</p>`}
    </fieldset>
    <p class="share-actions"><button class="button" type="button" onClick=${() => onBack("")}>Change the words and make another link</button></p>
  </div>`;
}
