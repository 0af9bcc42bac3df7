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

/** @returns {{layer?: number, head?: number}} what a note points at */
export function selectionOf({ layer, head }) {
  return { ...(layer === null ? {} : { layer }), ...(head === null ? {} : { head }) };
}

/**
 * The notes before and after the place in sight, by step and then as they were written; several on one place are one.
 *
 * @param {Object[]} notes
 * @param {{step: number, selection: {layer: number, head: number}}} sight
 * @returns {{before: Object|undefined, after: Object|undefined}}
 */
export function notesAround(notes, { step, selection }) {
  const ordered = notedSteps(notes).flatMap((noted) => notesOf(notes, noted));
  const isHere = (note) =>
    note.step === step && Object.entries(selectionOf(note)).every(([name, value]) => selection[name] === value);
  const [first, last] = [ordered.findIndex(isHere), ordered.findLastIndex(isHere)];
  return {
    before: ordered.findLast((note, at) => (first < 0 ? note.step < step : at < first)),
    after: ordered.find((note, at) => (last < 0 ? note.step >= step : at > last)),
  };
}

/** @returns {string} "step 3, layer 13, head 8" */
export function placeOf({ step, layer, head }) {
  return [`step ${step}`, layer !== null && `layer ${layer}`, head !== null && `head ${head}`]
    .filter(Boolean)
    .join(", ");
}
