/** Opens a saved file, chosen in a dialog or dropped anywhere on the page. */

import { html } from "htm/preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { bytesShort } from "../facts/format.js";
import { linkTo } from "../log/root.js";
import { Copied } from "../ui/copied.js";
import { CloseButton } from "../ui/form.js";
import { Icon } from "../ui/icons.js";
import { msg, nodes } from "../words/msg.js";
import { chosenFile, Drop, isModel } from "./drop.js";
import { fileRefusal } from "./session-files.js";

const IDLE = { name: "", size: 0, sent: null, refusal: null, opened: null };

/**
 * @param {{client: Object, limit: number, onModel?: ((file: File) => void)|null}} props `limit`: size of the largest file allowed, in bytes;
 *   `onModel`: called for a GGUF file that is dropped, if this page can compute with it
 */
export function OpenFile({ client, limit, onModel = null }) {
  const dialog = useRef(null);
  const sending = useRef(null);
  const [state, setState] = useState(IDLE);

  const take = useCallback(
    async (file) => {
      if (sending.current) return;
      const refusal = fileRefusal(file, limit);
      setState({ ...IDLE, name: file.name, size: file.size, sent: refusal ? null : 0, refusal });
      if (!dialog.current.open) dialog.current.showModal();
      if (refusal) return;
      const aborter = new AbortController();
      sending.current = aborter;
      const change = (patch) => {
        if (!aborter.signal.aborted) setState((before) => ({ ...before, ...patch }));
      };
      try {
        change({
          sent: null,
          opened: await client.keep(file, { onSent: (sent) => change({ sent }), signal: aborter.signal }),
        });
      } catch ({ detail, title }) {
        change({ sent: null, refusal: detail || title });
      }
      if (sending.current === aborter) sending.current = null;
    },
    [client, limit],
  );
  const cancel = () => {
    sending.current?.abort();
    sending.current = null;
    setState(IDLE);
  };
  /** The event may come after a dropped file has opened the dialog again. */
  const onClose = () => {
    if (!dialog.current.open) cancel();
  };
  const dropped = useCallback((file) => (onModel && isModel(file) ? onModel(file) : take(file)), [take, onModel]);
  const choose = (event) => {
    const file = chosenFile(event);
    if (file) take(file);
  };
  return html`<button type="button" class="button file-button nowrap still" title=${msg`Open a run that was saved as a file`} onClick=${() => dialog.current.showModal()}>
      <${Icon} name="folder" /><span>${msg`Open a file`}</span>
    </button>
    <dialog class="share popover" aria-labelledby="open-file-title" ref=${dialog} onClose=${onClose}>
      <div class="share-head line between">
        <h2 id="open-file-title">${msg`Open a saved run`}</h2>
        <${CloseButton}>${msg`Close`}<//>
      </div>
      <div class="share-form stack wide">
        ${
          state.opened
            ? html`<${Opened} opened=${state.opened} name=${state.name} />`
            : html`<${Choice} state=${state} choose=${choose} cancel=${cancel} />`
        }
      </div>
    </dialog>
    <${Drop} take=${dropped} />`;
}

function Choice({ state, choose, cancel }) {
  const { name, size, sent, refusal } = state;
  if (sent !== null) return html`<${Sending} name=${name} size=${size} sent=${sent} cancel=${cancel} />`;
  const [page, data] = [html`<code>.html</code>`, html`<code>.safetensors</code>`];
  return html`<p class="muted">
      ${nodes`Choose a file that KVScope saved, ${page} or ${data}, or drop it anywhere on the page. The server checks and stores it, and creates a link to it.`}
    </p>
    ${refusal && html`<p class="word-bad" role="alert"><bdi>${refusal}</bdi> ${msg`Nothing was stored, and nothing on this page has changed.`}</p>`}
    <label class="share-field stack tight"><span>${msg`File`}</span><input type="file" accept=".html,.htm,.safetensors" onChange=${choose} /></label>`;
}

function Sending({ name, size, sent, cancel }) {
  const all = sent >= size;
  const file = html`<bdi>${name}</bdi>`;
  return html`<p class="muted" role="status">${all ? nodes`Checking and storing ${file}` : nodes`Sending ${file}`}</p>
    <div class="file-progress stack tight">
      <progress aria-label=${msg`Sent`} max=${size} value=${all ? undefined : sent}></progress>
      <span class="number">${all ? msg`Sent. The server checks every part.` : msg`${bytesShort(sent)} of ${bytesShort(size)}`}</span>
    </div>
    <p class="share-row row between"><button class="button" type="button" onClick=${cancel}>${msg`Cancel`}</button></p>`;
}

/** The new link, and the token that deletes it. */
function Opened({ opened, name }) {
  const link = linkTo(`/s/${opened.id}`);
  const file = html`<bdi>${name}</bdi>`;
  const first = useRef(null);
  useEffect(() => first.current.focus(), []);
  return html`<p class="muted" role="status">${nodes`${file} was checked and is stored on this server.`}</p>
    <p><a class="file-open run-button strong nowrap still" href=${link} ref=${first}>${msg`Open it`}</a></p>
    <fieldset>
      <legend>${msg`Its link on this server`}</legend>
      <${Copied} name=${msg`Link`} value=${link} />
      <p class="muted small">
        ${msg`This browser can delete it later, on the page of the link. Other browsers need the delete token. It is shown only now.`}
      </p>
      <${Copied} name=${msg`Delete token`} value=${opened.delete_token} />
    </fieldset>`;
}
