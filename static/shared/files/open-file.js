/** Opens a run that was saved as a file: chosen, or dropped anywhere on the page. */

import { html } from "htm/preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { bytesShort } from "../facts/format.js";
import { linkTo } from "../log/root.js";
import { Copied } from "../ui/copied.js";
import { Icon } from "../ui/icons.js";
import { fileRefusal } from "./session-files.js";

const IDLE = { name: "", size: 0, sent: null, refusal: null, opened: null };

/** @param {{client: Object, limit: number}} props `limit`: bytes of the largest file that is taken */
export function OpenFile({ client, limit }) {
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
  const giveUp = () => {
    sending.current?.abort();
    sending.current = null;
    setState(IDLE);
  };
  const dropping = useDrop(take);
  const choose = ({ currentTarget }) => {
    const [file] = currentTarget.files;
    // The same file, mended, can be chosen again.
    currentTarget.value = "";
    if (file) take(file);
  };
  return html`<button type="button" class="button file-button nowrap still" title="Open a run that was saved as a file" onClick=${() => dialog.current.showModal()}>
      <${Icon} name="folder" /><span>Open a file</span>
    </button>
    <dialog class="share popover" aria-labelledby="open-file-title" ref=${dialog} onClose=${giveUp}>
      <div class="share-head line between">
        <h2 id="open-file-title">Open a saved run</h2>
        <form method="dialog"><button class="button">Close</button></form>
      </div>
      <div class="share-form stack wide">
        ${
          state.opened
            ? html`<${Opened} opened=${state.opened} name=${state.name} />`
            : html`<${Choice} state=${state} choose=${choose} giveUp=${giveUp} />`
        }
      </div>
    </dialog>
    ${dropping && html`<div class="file-drop untouched" aria-hidden="true"><p>Drop the file to open it</p></div>`}`;
}

function Choice({ state, choose, giveUp }) {
  const { name, size, sent, refusal } = state;
  if (sent !== null) return html`<${Sending} name=${name} size=${size} sent=${sent} giveUp=${giveUp} />`;
  return html`<p class="muted">
      A run that KVScope saved as a file, <code>.html</code> or <code>.safetensors</code>. Choose it here, or drop it anywhere on the page. It is sent to this
      server, checked, and kept there under a link of its own.
    </p>
    ${refusal && html`<p class="word-bad" role="alert"><bdi>${refusal}</bdi> Nothing was stored, and nothing on this page has changed.</p>`}
    <label class="share-field stack tight"><span>File</span><input type="file" accept=".html,.htm,.safetensors" onChange=${choose} /></label>`;
}

function Sending({ name, size, sent, giveUp }) {
  const all = sent >= size;
  return html`<p class="muted" role="status">${all ? "Checking and storing " : "Sending "}<bdi>${name}</bdi></p>
    <div class="file-progress stack tight">
      <progress aria-label="Sent" max=${size} value=${all ? undefined : sent}></progress>
      <span class="number">${all ? "sent; the server checks every part" : `${bytesShort(sent)} of ${bytesShort(size)}`}</span>
    </div>
    <p class="share-row row between"><button class="button" type="button" onClick=${giveUp}>Cancel</button></p>`;
}

/** It has a link of its own now; whoever brought it is told the one key to delete it. */
function Opened({ opened, name }) {
  const link = linkTo(`/s/${opened.id}`);
  const first = useRef(null);
  useEffect(() => first.current.focus(), []);
  return html`<p class="muted" role="status"><bdi>${name}</bdi> was checked and is kept on this server.</p>
    <p><a class="file-open run-button strong nowrap still" href=${link} ref=${first}>Open it</a></p>
    <fieldset>
      <legend>Its link here</legend>
      <${Copied} name="Link" value=${link} />
      <p class="muted small">
        This browser can delete it again, on the page of the link. From anywhere else the delete token is the only key to that, and it is shown
        only this once.
      </p>
      <${Copied} name="Delete token" value=${opened.delete_token} />
    </fieldset>`;
}

/** @returns {boolean} whether a file is being dragged over the page */
function useDrop(take) {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const hasFile = ({ dataTransfer }) => dataTransfer?.types.includes("Files");
    const onOver = (event) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const onLeave = ({ relatedTarget }) => {
      if (!relatedTarget) setOver(false);
    };
    const onDrop = (event) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      setOver(false);
      const [file] = event.dataTransfer.files;
      if (file) take(file);
    };
    /** @type {Object<string, (event: any) => void>} */
    const listeners = { dragover: onOver, dragleave: onLeave, drop: onDrop };
    for (const [name, listener] of Object.entries(listeners)) window.addEventListener(name, listener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) window.removeEventListener(name, listener);
    };
  }, [take]);
  return over;
}
