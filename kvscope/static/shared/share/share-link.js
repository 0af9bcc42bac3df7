/** The new link, with buttons to copy it and to delete it. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { SaveFile } from "../files/save-file.js";
import { linkTo } from "../log/root.js";
import { Copied } from "../ui/copied.js";
import { msg } from "../words/msg.js";

const DELETED = msg`Deleted. The link no longer works, unless somebody else shared the same run with the same title and notes.`;

/**
 * @param {{shared: {id: string, delete_token: string}, title: string, moment: Object, Embed: Function,
 *   client: Object, onBack: (text: string) => void}} props `title`, `moment`: of the session; `Embed`: renders the button that embeds it;
 *   `onBack`: returns to the form, which shows `text`
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
    <p class="muted" role="status">${msg`The link is ready.`}</p>
    <${Copied} name=${msg`Link`} value=${link} />
    <div class="share-row row between">
      <a href=${link} target="_blank" rel="noopener">${msg`Open it in a new tab`}</a>
      <${Embed} id=${shared.id} title=${title} moment=${moment} />
    </div>
    <fieldset>
      <legend>${msg`Save as a file`}</legend>
      <${SaveFile} id=${shared.id} client=${client} />
    </fieldset>
    <fieldset>
      <legend>${msg`Delete the link`}</legend>
      <p>
        ${msg`This browser can delete the shared run later, on the page of the link. Other browsers need the delete token. It is shown only now.`}
      </p>
      <${Copied} name=${msg`Delete token`} value=${shared.delete_token} />
      <p class="share-row row between"><button class="button" type="button" aria-disabled=${busy} onClick=${withdraw}>${msg`Delete this link`}</button></p>
      ${problem && html`<p class="word-bad" role="alert">${problem}</p>`}
    </fieldset>
    <p class="share-actions"><button class="button" type="button" onClick=${() => onBack("")}>${msg`Change the title or notes and make another link`}</button></p>
  </div>`;
}
