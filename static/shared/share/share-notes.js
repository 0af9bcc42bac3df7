/** The notes of a run that is about to be shared: one being written on the moment in sight, and those added. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { counted } from "../facts/format.js";
import { placeOf } from "../facts/saved-session.js";
import { mostOf } from "../log/limits.js";

/**
 * @param {{draft: Object, moment: Object, named: string, count: (step: number) => string, limits: Object, withWritten: () => Object,
 *   change: (patch: Object) => void, refusal: Object}} props `named`: what a step is called, `count`: which one it is; `withWritten`: the
 *   draft with the note that is being written among its notes
 */
export function ShareNotes({ draft, moment, named, count, limits, withWritten, change, refusal }) {
  const { notes, text, pinned } = draft;
  const field = useRef(null);
  const full = notes.length >= mostOf(limits, "share", "notes");
  const add = () => {
    change(withWritten());
    field.current.focus();
  };
  const remove = (index) => {
    change({ notes: notes.filter((_, at) => at !== index) });
    field.current.focus();
  };
  return html`<fieldset>
    <legend>Notes <small>shown to whoever opens the link</small></legend>
    ${
      notes.length > 0 &&
      html`<ul class="share-notes stack" aria-label="Notes added">
        ${notes.map(
          (note, index) => html`<li key=${`${index}/${note.text}`}>
          <span class="muted small">${placeOf({ ...note, at: `${named} ${count(note.step)}` })}</span>
          <bdi dir="auto">${note.text}</bdi>
          <button class="button" type="button" aria-label=${`Remove note ${index + 1}`} onClick=${() => remove(index)}>Remove</button>
        </li>`,
        )}
      </ul>`
    }
    <label class="share-field stack tight">
      <span>Note on ${named} ${count(moment.step)}</span>
      <textarea
        rows="2" dir="auto" maxlength=${mostOf(limits, "share", "text")} disabled=${full} ref=${field} value=${text}
        aria-invalid=${Boolean(refusal)} aria-describedby=${refusal ? "share-notes-problem" : undefined}
        onInput=${(event) => change({ text: event.currentTarget.value })}
      ></textarea>
    </label>
    <p class="share-row row between">
      ${
        moment.layer !== undefined &&
        html`<label class="line">
          <input type="checkbox" checked=${pinned} onChange=${(event) => change({ pinned: event.currentTarget.checked })} />
          Pin it to layer ${moment.layer}, head ${moment.head} as well
        </label>`
      }
      <button class="button" type="button" disabled=${full || !text.trim()} onClick=${add}>Add note</button>
    </p>
    <p class="muted small">
      ${full ? `A run takes ${counted(mostOf(limits, "share", "notes"), "note")}.` : `For a note on another ${named}, close this, go there and come back: nothing is lost.`}
    </p>
    ${refusal}
  </fieldset>`;
}
