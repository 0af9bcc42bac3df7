/** The notes of a run before it is shared: one being written on the current step, and those added. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { integer } from "../facts/format.js";
import { placeOf } from "../facts/saved-session.js";
import { mostOf } from "../log/limits.js";
import { form, msg, plural } from "../words/msg.js";

const TEXTS = {
  step: {
    name: (number) => msg`step ${number}`,
    note: (number) => msg`Note on step ${number}`,
    hint: msg`To add a note on another step, close this dialog, go to that step and share again. Your text stays.`,
  },
  pass: {
    name: (number) => msg`pass ${number}`,
    note: (number) => msg`Note on pass ${number}`,
    hint: msg`To add a note on another pass, close this dialog, go to that pass and share again. Your text stays.`,
  },
};

/**
 * @param {{draft: Object, moment: Object, named: "step"|"pass", count: (step: number) => string, limits: Object, withWritten: () => Object,
 *   change: (patch: Object) => void, refusal: Object}} props `named`: what a step is called here, `count`: its number for the reader;
 *   `withWritten`: the draft, with the note that is being written among its notes
 */
export function ShareNotes({ draft, moment, named, count, limits, withWritten, change, refusal }) {
  const { notes, text, pinned } = draft;
  const field = useRef(null);
  const most = mostOf(limits, "share", "notes");
  const full = notes.length >= most;
  const texts = TEXTS[named];
  const add = () => {
    change(withWritten());
    field.current.focus();
  };
  const remove = (index) => {
    change({ notes: notes.filter((_, at) => at !== index) });
    field.current.focus();
  };
  return html`<fieldset>
    <legend>${msg`Notes`} <small>${msg`shown to everyone who opens the link`}</small></legend>
    ${
      notes.length > 0 &&
      html`<ul class="share-notes stack" aria-label=${msg`Notes added`}>
        ${notes.map(
          (note, index) => html`<li key=${`${index}/${note.text}`}>
          <span class="muted small">${placeOf({ ...note, at: texts.name(count(note.step)) })}</span>
          <bdi dir="auto">${note.text}</bdi>
          <button class="button" type="button" aria-label=${msg`Remove note ${index + 1}`} onClick=${() => remove(index)}>${msg`Remove`}</button>
        </li>`,
        )}
      </ul>`
    }
    <label class="share-field stack tight">
      <span>${texts.note(count(moment.step))}</span>
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
          ${msg`Pin it to layer ${moment.layer}, head ${moment.head} as well`}
        </label>`
      }
      <button class="button" type="button" disabled=${full || !text.trim()} onClick=${add}>${msg`Add note`}</button>
    </p>
    <p class="muted small">
      ${full ? fullSentence(most) : texts.hint}
    </p>
    ${refusal}
  </fieldset>`;
}

function fullSentence(most) {
  const count = integer(most);
  return plural(most, form`The limit is ${count} note.`, form`The limit is ${count} notes.`);
}
