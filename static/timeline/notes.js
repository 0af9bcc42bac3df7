/** What the sharer of a saved run wrote about the step in sight, and the way to the next note. Plain text only. */

import { html } from "htm/preact";
import { counted } from "../facts/format.js";
import { notedSteps, notesAround, notesOf, placeOf, selectionOf } from "../facts/saved-session.js";

export function Notes({ state, dispatch }) {
  const { run, step, selection } = state;
  const notes = run?.saved?.notes ?? [];
  if (!notes.length || !run.steps.length) return null;
  const steps = notedSteps(notes);
  const here = theOneInSightFirst(notesOf(notes, step), selection);
  const { before, after } = notesAround(notes, { step, selection });
  const show = (note) => () => {
    dispatch({ type: "seek", step: note.step });
    dispatch({ type: "select", selection: selectionOf(note) });
  };
  return html`<section class="notes" aria-label="Notes">
    <${Arrow} name="Previous note" to=${before} show=${show}>◂<//>
    <ul class="notes-text" aria-live="polite" tabindex=${here.length ? "0" : undefined} aria-label="Notes on this step">
      ${
        here.length
          ? here.map(
              (note, index) =>
                html`<${Note} key=${`${step}/${index}`} note=${note} selection=${selection} dispatch=${dispatch} />`,
            )
          : html`<li class="notes-none">${elsewhere(notes.length, steps)}</li>`
      }
    </ul>
    <${Arrow} name="Next note" to=${after} show=${show}>▸<//>
  </section>`;
}

function isInSight(note, selection) {
  return Object.entries(selectionOf(note)).every(([name, value]) => selection[name] === value);
}

/** Where there is room for one note, it is the one that speaks of the cell in sight. */
function theOneInSightFirst(notes, selection) {
  const first = notes.find((note) => isInSight(note, selection));
  return first ? [first, ...notes.filter((note) => note !== first)] : notes;
}

function elsewhere(count, steps) {
  const where = steps.length === 1 ? `step ${steps[0]}` : `steps ${steps.slice(0, -1).join(", ")} and ${steps.at(-1)}`;
  return `No note on this step. ${counted(count, "note")} on ${where}.`;
}

function Arrow({ name, to, show, children }) {
  return html`<button
    type="button" aria-label=${name} title=${to === undefined ? `No ${name.toLowerCase()}` : `${name}: ${placeOf(to)}`}
    aria-disabled=${to === undefined} onClick=${to === undefined ? null : show(to)}
  >${children}</button>`;
}

function Note({ note, selection, dispatch }) {
  const { layer, head, text } = note;
  const pinned = selectionOf(note);
  const words = [layer !== null && `layer ${layer}`, head !== null && `head ${head}`].filter(Boolean).join(", ");
  const there = isInSight(note, selection);
  return html`<li>
    ${
      words
        ? html`<button
            type="button" class="note-place" aria-pressed=${there} title="Show it"
            onClick=${() => dispatch({ type: "select", selection: pinned })}
          >${words}</button>`
        : html`<span class="note-place">step ${note.step}</span>`
    }
    <bdi class="note-text" dir="auto">${text}</bdi>
  </li>`;
}
