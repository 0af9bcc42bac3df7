/** What the sharer of a saved run wrote about the step in sight, and the way to the next note. Plain text only. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { counted, listed } from "../../shared/facts/format.js";
import { notedSteps, noteInSight, notesAround, notesOf, placeOf, sightOf } from "../../shared/facts/saved-session.js";

export function Notes({ state, dispatch }) {
  const { run, step, selection } = state;
  const [wanted, setWanted] = useState(null);
  const notes = run?.saved?.notes ?? [];
  if (!notes.length || !run.steps.length) return null;
  const steps = notedSteps(notes);
  const read = noteInSight(notes, state, wanted);
  const here = firstOf(notesOf(notes, step), read);
  const { before, after, number } = notesAround(notes, state, wanted);
  const count = `${number} of ${notes.length}`;
  const show = (note) => () => {
    setWanted(note);
    dispatch({ type: "seek", step: note.step });
    dispatch({ type: "select", selection: sightOf(note, run.saved.open, selection.view) });
  };
  return html`<section class="notes whole" aria-label="Notes">
    <${Arrow} name="Previous note" to=${before} show=${show}>◂<//>
    <ul class="notes-text stack tight" aria-live="polite" tabindex=${here.length ? "0" : undefined} aria-label="Notes on this step">
      ${
        here.length
          ? here.map(
              (note, index) =>
                html`<${Note} key=${`${step}/${index}`} note=${note} count=${note === read && count} onShow=${show(note)} />`,
            )
          : html`<li class="notes-none muted">${elsewhere(notes.length, steps)}</li>`
      }
    </ul>
    <${Arrow} name="Next note" to=${after} show=${show}>▸<//>
  </section>`;
}

/** Where there is room for one note, it is the one that is read. */
function firstOf(notes, read) {
  return read ? [read, ...notes.filter((note) => note !== read)] : notes;
}

function elsewhere(count, steps) {
  const where = `${steps.length === 1 ? "step" : "steps"} ${listed(steps)}`;
  return `No note on this step. ${counted(count, "note")} on ${where}.`;
}

function Arrow({ name, to, show, children }) {
  return html`<button
    class="icon-button muted still" type="button" aria-label=${name} title=${to === undefined ? `No ${name.toLowerCase()}` : `${name}: ${placeOf(to)}`}
    aria-disabled=${to === undefined} onClick=${to === undefined ? null : show(to)}
  >${children}</button>`;
}

/** @param {{note: Object, count: string|false, onShow: () => void}} props `count`: the place among all of the note that is read */
function Note({ note, count, onShow }) {
  const { layer, head, text } = note;
  const words = [layer !== null && `layer ${layer}`, head !== null && `head ${head}`].filter(Boolean).join(", ");
  return html`<li>
    ${
      words
        ? html`<button
            type="button" class="button small" aria-pressed=${Boolean(count)} title="Show it" onClick=${onShow}
          >${words}</button>`
        : html`<span class="muted small">step ${note.step}</span>`
    }
    <bdi class="note-text breaks" dir="auto">${text}</bdi>
    ${count && html`<small class="note-count">${count}</small>`}
  </li>`;
}
