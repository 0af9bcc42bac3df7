/** What a saved session adds to its run: where it opens, its notes, and what it cannot do. Pure. */

/** Said wherever a saved run could be gone on with, were it not saved. */
export const NO_BRANCH = "A saved run cannot be branched: run its prompt again.";
export const NO_STUDY = "Not possible in a saved run: run its prompt again.";
/** Said in place of exact values that nobody can compute here. */
export const NOT_STORED = "not stored with this session, and its model does not run here";
/** How to come by what is not stored. */
export const TO_GET_THEM =
  "To see them, run this prompt in KVScope with its model, or ask for a link with the values stored.";
/** Said in place of exact values that are stored, but not as they were. */
export const DAMAGED = "stored with this session, but damaged since";

/** @returns {Object} the link that a session opens with: the properties its sharer chose */
export function openingOf({ open }) {
  return Object.fromEntries(Object.entries(open ?? {}).filter(([, value]) => value !== null && value !== undefined));
}

/**
 * Whether the exact values of a run can be computed on this server.
 *
 * @param {import("../log/run.js").Run} run
 * @param {{state: string, model: {sha256: string}|null}} readiness
 * @returns {"ready"|"loading"|"none"} "none": not without another server
 */
export function modelFor(run, { state, model }) {
  if (!run.saved) return state === "ready" ? "ready" : "loading";
  if (run.saved.file) return "none";
  if (state === "failed" || state === "unreachable") return "none";
  if (model && model.sha256 !== run.open.model.sha256) return "none";
  return state === "ready" ? "ready" : "loading";
}

/**
 * @param {import("../log/run.js").Run} run
 * @param {{status: number}|null} problem why exact values were refused
 * @returns {boolean} whether that is so because the server does not run the model of a saved run
 */
export function isNotStored(run, problem) {
  return run.saved !== null && [409, 503].includes(problem?.status);
}

/** @returns {number[]} the steps that have notes, in order, each once */
export function notedSteps(notes) {
  return [...new Set(notes.map(({ step }) => step))].sort((a, b) => a - b);
}

/** @returns {Object[]} the notes of a step, in the order they were written */
export function notesOf(notes, step) {
  return notes.filter((note) => note.step === step);
}

/** Views in which a head is in sight, and those in which its layer is. */
const SHOWS_HEAD = ["head", "pair"];
const SHOWS_LAYER = ["block", ...SHOWS_HEAD];

/** @returns {{layer?: number, head?: number}} what a note points at */
export function selectionOf({ layer, head }) {
  return { ...(layer === null ? {} : { layer }), ...(head === null ? {} : { head }) };
}

/**
 * What is selected when a note is gone to: its layer and head, in a view that shows them. The token that the session opens
 * with stays in sight at that step, and the one it looks at in that very head; elsewhere the newest token speaks.
 *
 * @param {Object} note
 * @param {Object|null} open of the session
 * @param {string} view in sight
 */
export function sightOf(note, open, view) {
  const atStep = note.step === open?.step;
  const atHead = atStep && note.layer === open.layer && note.head === open.head;
  return {
    ...selectionOf(note),
    query: atStep ? open.query : null,
    key: atHead ? open.key : null,
    view: viewOf(note, open, view),
  };
}

/** What a note says of no layer is about what its session opened with. */
function viewOf({ layer, head }, open, view) {
  if (head !== null) return SHOWS_HEAD.includes(view) ? view : "head";
  if (layer !== null) return SHOWS_LAYER.includes(view) ? view : "block";
  return open?.view ?? view;
}

const isAt = (note, selection) => Object.entries(selectionOf(note)).every(([name, value]) => selection[name] === value);

/**
 * The note that is read: of those on the place in sight the one gone to, or else the first, one that names it before others.
 *
 * @param {Object[]} notes
 * @param {{step: number, selection: {layer: number, head: number}}} sight
 * @param {Object|null} wanted the note that was gone to last
 * @returns {Object|undefined}
 */
export function noteInSight(notes, { step, selection }, wanted = null) {
  const there = notesOf(notes, step).filter((note) => isAt(note, selection));
  return there.find((note) => note === wanted) ?? there.find(({ layer }) => layer !== null) ?? there[0];
}

/**
 * The notes before and after the one that is read, by step and then as they were written, and its number among them, from 1; from a
 * place without one, those of earlier steps are before it.
 *
 * @returns {{before: Object|undefined, after: Object|undefined, number?: number}}
 */
export function notesAround(notes, sight, wanted = null) {
  const ordered = notedSteps(notes).flatMap((noted) => notesOf(notes, noted));
  const read = noteInSight(notes, sight, wanted);
  if (read) {
    const at = ordered.indexOf(read);
    return { before: ordered[at - 1], after: ordered[at + 1], number: at + 1 };
  }
  return {
    before: ordered.findLast(({ step }) => step < sight.step),
    after: ordered.find(({ step }) => step >= sight.step),
  };
}

/** @returns {string} "step 3, layer 13, head 8"; `at`: the step in other words */
export function placeOf({ step, layer, head, at = `step ${step}` }) {
  return [at, layer !== null && `layer ${layer}`, head !== null && `head ${head}`].filter(Boolean).join(", ");
}
