/** Deletes the run in sight for good, where this device started it; and says how long a run stays otherwise. */

import { html } from "htm/preact";
import { useRef, useState } from "preact/hooks";
import { bytesShort, counted } from "../facts/format.js";
import { under } from "../log/root.js";

/** @param {{state: Object, client: Object}} props */
export function DeleteRun({ state, client }) {
  const dialog = useRef(null);
  const [refusal, setRefusal] = useState(null);
  const { run, limits } = state;
  if (!run?.open || run.saved || !client.isMine(run.id)) return null;
  const remove = async () => {
    try {
      await client.remove(run.id);
      window.location.assign(under("/"));
    } catch ({ detail, title }) {
      setRefusal(detail || title);
    }
  };
  return html`
    <button class="delete-run muted" type="button" title="Deletes this run from the server" onClick=${() => dialog.current.showModal()}>
      Delete
    </button>
    <dialog class="delete-dialog popover" ref=${dialog} aria-label="Delete this run">
      <p><strong>Delete this run?</strong> Its steps, twins and beam searches go for good. Its branches and what was shared of it stay.</p>
      <p class="muted">${keptWords(limits)}</p>
      ${refusal && html`<p role="alert">${refusal}</p>`}
      <p class="line delete-actions">
        <button class="button" type="button" onClick=${() => dialog.current.close()}>Keep it</button>
        <button type="button" class="run-button strong nowrap still" onClick=${remove}>Delete it</button>
      </p>
    </dialog>
  `;
}

/** @returns {string} how long the server keeps a run that nobody deletes */
function keptWords({ keep_days: days, disk_bytes: bytes }) {
  const until = [
    days && `for ${counted(days, "day")}`,
    bytes && `until what is stored fills ${bytesShort(bytes)}`,
  ].filter(Boolean);
  if (!until.length) return "This server keeps runs until they are deleted.";
  const oldest = bytes ? ": then the oldest go first" : "";
  return `This server keeps a run that nobody shared ${until.join(", or ")}${oldest}.`;
}
