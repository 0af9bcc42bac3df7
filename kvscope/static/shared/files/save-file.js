/** The files that a session can be saved as, each with its exact size before the download. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { under } from "../log/root.js";
import { CloseButton } from "../ui/form.js";
import { msg } from "../words/msg.js";
import { filesOf, sizeOf } from "./session-files.js";

/** @param {{id: string, client: Object}} props of a saved session */
export function SaveFile({ id, client }) {
  const { files, sizes, problem } = useFiles(id, client);
  return html`<p class="muted small">
      ${msg`A page holds everything in one file. It opens with a double click, without a network and without KVScope. KVScope can also open it.`}
    </p>
    ${problem && html`<p class="word-bad" role="alert">${problem.detail || problem.title}</p>`}
    <ul class="file-list stack" aria-label=${msg`Files`}>
      ${files.map(
        ({ kind, level, name, text, there }) => html`<li key=${name}>
          ${there ? html`<a href=${under(client.fileOf(id, kind, level))} download>${name}</a>` : html`<span>${name}</span>`}
          <span class="file-size muted">${there ? sizeOf(sizes[name]) : msg`not stored`}</span>
          <small>${there ? text : msg`These values were not stored when the run was shared.`}</small>
        </li>`,
      )}
    </ul>`;
}

/** Loads which files exist, then their sizes, one after another. */
function useFiles(id, client) {
  const [state, setState] = useState({ files: [], sizes: {}, problem: null });
  useEffect(() => {
    const aborter = new AbortController();
    const measure = async () => {
      const files = filesOf(await client.manifest(id, aborter));
      setState({ files, sizes: {}, problem: null });
      for (const { kind, level, name, there } of files) {
        if (!there) continue;
        const size = await client.sizeOf(id, kind, level, aborter);
        setState((before) => ({ ...before, sizes: { ...before.sizes, [name]: size } }));
      }
    };
    measure().catch((problem) => {
      if (!aborter.signal.aborted) setState((before) => ({ ...before, problem }));
    });
    return () => aborter.abort();
  }, [id, client]);
  return state;
}

/** The button on the page of a saved session, and its dialog. */
export function SaveFileButton({ id, client }) {
  const dialog = useRef(null);
  const [opened, setOpened] = useState(false);
  const open = () => {
    setOpened(true);
    dialog.current.showModal();
  };
  return html`<button type="button" class="button file-button nowrap still" onClick=${open}>${msg`Save as file`}</button>
    <dialog class="share popover" aria-labelledby="save-file-title" ref=${dialog}>
      <div class="share-head line between">
        <h2 id="save-file-title">${msg`Save this run as a file`}</h2>
        <${CloseButton}>${msg`Close`}<//>
      </div>
      ${opened && html`<${SaveFile} id=${id} client=${client} />`}
    </dialog>`;
}
