/** Deletes the current run if this device started it, and explains how long the server keeps it otherwise. */

import { html } from "htm/preact";
import { useRef, useState } from "preact/hooks";
import { bytesShort, integer } from "../../shared/facts/format.js";
import { isHere } from "../../shared/log/device.js";
import { under } from "../../shared/log/root.js";
import { form, msg, nodes, plural } from "../../shared/words/msg.js";

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
  const question = html`<strong>${msg`Delete this run?`}</strong>`;
  return html`
    <button class="delete-run muted" type="button" title=${isHere(run) ? msg`Deletes this run` : msg`Deletes this run from the server`} onClick=${() => dialog.current.showModal()}>
      ${msg`Delete`}
    </button>
    <dialog class="delete-dialog popover" ref=${dialog} aria-label=${msg`Delete this run`}>
      <p>
        ${nodes`${question} This also deletes its twins and beam searches, and cannot be undone. Its branches and its shared links stay.`}
      </p>
      <p class="muted">${isHere(run) ? HERE_ALONE : retentionSentence(limits)}</p>
      ${refusal && html`<p role="alert">${refusal}</p>`}
      <p class="line delete-actions">
        <button class="button" type="button" onClick=${() => dialog.current.close()}>${msg`Keep it`}</button>
        <button type="button" class="run-button strong nowrap still" onClick=${remove}>${msg`Delete it`}</button>
      </p>
    </dialog>
  `;
}

const HERE_ALONE = msg`It is in this page alone, and gone when the page closes.`;

/** @returns {string} how long the server keeps a run that nobody deletes */
function retentionSentence({ keep_days: days, disk_bytes: bytes }) {
  const size = bytes && bytesShort(bytes);
  if (!days) {
    return bytes
      ? msg`This server keeps runs until stored data reaches ${size}. Then it deletes the oldest runs that are not shared.`
      : msg`This server keeps runs until they are deleted.`;
  }
  const count = integer(days);
  if (!bytes) {
    return plural(
      days,
      form`This server keeps a run that is not shared for ${count} day.`,
      form`This server keeps a run that is not shared for ${count} days.`,
    );
  }
  return plural(
    days,
    form`This server keeps a run that is not shared for ${count} day. If stored data reaches ${size} before that, it deletes the oldest of these runs.`,
    form`This server keeps a run that is not shared for ${count} days. If stored data reaches ${size} before that, it deletes the oldest of these runs.`,
  );
}
