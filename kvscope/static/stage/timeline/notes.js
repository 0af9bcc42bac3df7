/** The notes of a saved session on the shown step, and buttons to the others. Plain text only. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { listed } from "../../shared/facts/format.js";
import { notedSteps, noteInSight, notesAround, notesOf, placeOf, sightOf } from "../../shared/facts/saved-session.js";
import { form, msg, plural } from "../../shared/words/msg.js";

export function Notes({ state, dispatch }) {
  const { run, step, selection } = state;
  const [wanted, setWanted] = useState(null);
  const notes = run?.saved?.notes ?? [];
  if (!notes.length || !run.steps.length) return null;
  const steps = notedSteps(notes);
  const read = noteInSight(notes, state, wanted);
  const here = firstOf(notesOf(notes, step), read);
  const { before, after, number } = notesAround(notes, state, wanted);
  const count = msg`${number} of ${notes.length}`;
  const show = (note) => () => {
    setWanted(note);
    dispatch({ type: "seek", step: note.step });
    dispatch({ type: "select", selection: sightOf(note, run.saved.open, selection.view) });
  };
  return html`<section class="notes whole" aria-label=${msg`Notes`}>
    <${Arrow} name=${msg`Previous note`} none=${msg`No previous note`} to=${before} show=${show}>◂<//>
    <ul class="notes-text stack tight" aria-live="polite" tabindex=${here.length ? "0" : undefined} aria-label=${msg`Notes on this step`}>
      ${
        here.length
          ? here.map(
              (note, index) =>
                html`<${Note} key=${`${step}/${index}`} note=${note} count=${note === read && count} onShow=${show(note)} />`,
            )
          : html`<li class="notes-none muted">${elsewhere(notes.length, steps)}</li>`
      }
    </ul>
    <${Arrow} name=${msg`Next note`} none=${msg`No next note`} to=${after} show=${show}>▸<//>
  </section>`;
}

/** Returns the notes, the selected one first: on a small screen only the first is shown. */
function firstOf(notes, read) {
  return read ? [read, ...notes.filter((note) => note !== read)] : notes;
}

function elsewhere(count, steps) {
  const where = listed(steps);
  if (steps.length > 1) return msg`No note on this step. ${count} notes on steps ${where}.`;
  return plural(
    count,
    form`No note on this step. ${count} note on step ${where}.`,
    form`No note on this step. ${count} notes on step ${where}.`,
  );
}

function Arrow({ name, none, to, show, children }) {
  return html`<button
    class="icon-button muted still" type="button" aria-label=${name} title=${to === undefined ? none : `${name}: ${placeOf(to)}`}
    aria-disabled=${to === undefined} onClick=${to === undefined ? null : show(to)}
  >${children}</button>`;
}

/** @param {{note: Object, count: string|false, onShow: () => void}} props `count`: number of the selected note among all */
function Note({ note, count, onShow }) {
  const { layer, head, text } = note;
  const place = [layer !== null && msg`layer ${layer}`, head !== null && msg`head ${head}`].filter(Boolean).join(", ");
  return html`<li>
    ${
      place
        ? html`<button
            type="button" class="button small" aria-pressed=${Boolean(count)} title=${msg`Show it in the model`} onClick=${onShow}
          >${place}</button>`
        : html`<span class="muted small">${msg`step ${note.step}`}</span>`
    }
    <bdi class="note-text breaks" dir="auto">${text}</bdi>
    ${count && html`<small class="note-count">${count}</small>`}
  </li>`;
}
