/** What a saved session adds to its run: the step it opens at, its notes, and its limits. Pure. */

import { isOfOtherModel } from "../log/model.js";
import { NOT_STORED } from "../log/problem.js";
import { msg } from "../words/msg.js";

/** Replaces controls that only a run with an engine has. */
export const NO_BRANCH = msg`A saved run cannot be branched. Run its prompt again to branch it.`;
export const NO_STUDY = msg`Not possible in a saved run. Run its prompt again.`;
/** How to get exact values that are not stored. */
export const TO_GET_THEM = msg`To see them, run this prompt in KVScope with the same model, or ask for a link that includes exact values.`;

/** @returns {Object} the step and selection that a session opens with, as its author set them */
export function openingOf({ open }) {
  return Object.fromEntries(Object.entries(open ?? {}).filter(([, value]) => value !== null && value !== undefined));
}

/**
 * Returns whether this server can compute the exact values of a run.
 *
 * @param {import("../log/run.js").Run} run
 * @param {{state: string, model: {sha256: string}|null}} readiness
 * @returns {"ready"|"loading"|"none"} "none": this server cannot
 */
export function modelFor(run, { state, model }) {
  if (!run.saved) return state === "ready" ? "ready" : "loading";
  if (run.saved.file) return "none";
  if (["failed", "unreachable", "none"].includes(state)) return "none";
  if (isOfOtherModel(run, model)) return "none";
  return state === "ready" ? "ready" : "loading";
}

/**
 * @param {import("../log/run.js").Run} run
 * @param {{status: number}|null} problem why exact values were refused
 * @returns {boolean} whether the reason is that the server does not run the model of a saved run, or not for this page
 */
export function isNotStored(run, problem) {
  return run.saved !== null && [NOT_STORED, 409, 503].includes(problem?.status);
}

/** @returns {number[]} the steps that have notes, in order, each once */
export function notedSteps(notes) {
  return [...new Set(notes.map(({ step }) => step))].sort((a, b) => a - b);
}

/** @returns {Object[]} the notes of a step, in the order they were added */
export function notesOf(notes, step) {
  return notes.filter((note) => note.step === step);
}

/** Views that show a head, and views that show a layer. */
const SHOWS_HEAD = ["head", "pair"];
const SHOWS_LAYER = ["block", ...SHOWS_HEAD];

/** @returns {{layer?: number, head?: number}} the layer and head that a note is about */
export function selectionOf({ layer, head }) {
  return { ...(layer === null ? {} : { layer }), ...(head === null ? {} : { head }) };
}

/**
 * Returns the selection when the reader goes to a note: its layer and head, in a view that shows them. At the step that the session opens
 * with, its query stays selected, and in the same head its key too; elsewhere the newest token is the query.
 *
 * @param {Object} note
 * @param {Object|null} open of the session
 * @param {string} view shown now
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

/** A note without a layer is about the view that its session opened with. */
function viewOf({ layer, head }, open, view) {
  if (head !== null) return SHOWS_HEAD.includes(view) ? view : "head";
  if (layer !== null) return SHOWS_LAYER.includes(view) ? view : "block";
  return open?.view ?? view;
}

const isAt = (note, selection) => Object.entries(selectionOf(note)).every(([name, value]) => selection[name] === value);

/**
 * Returns the current note: among the notes on the selected step, layer and head, the one that the reader last went to, else the first
 * with a layer, else the first.
 *
 * @param {Object[]} notes
 * @param {{step: number, selection: {layer: number, head: number}}} sight
 * @param {Object|null} last the note that the reader last went to
 * @returns {Object|undefined}
 */
export function noteInSight(notes, { step, selection }, last = null) {
  const there = notesOf(notes, step).filter((note) => isAt(note, selection));
  return there.find((note) => note === last) ?? there.find(({ layer }) => layer !== null) ?? there[0];
}

/**
 * Returns the notes before and after the current one, by step and then in the order they were added, and its number, from 1. Without
 * a current note, the notes of earlier steps are before it.
 *
 * @returns {{before: Object|undefined, after: Object|undefined, number?: number}}
 */
export function notesAround(notes, sight, last = null) {
  const ordered = notedSteps(notes).flatMap((noted) => notesOf(notes, noted));
  const read = noteInSight(notes, sight, last);
  if (read) {
    const at = ordered.indexOf(read);
    return { before: ordered[at - 1], after: ordered[at + 1], number: at + 1 };
  }
  return {
    before: ordered.findLast(({ step }) => step < sight.step),
    after: ordered.find(({ step }) => step >= sight.step),
  };
}

/** @returns {string} "step 3, layer 13, head 8"; `at`: another name of the step, such as "pass 3" */
export function placeOf({ step, layer, head, at = msg`step ${step}` }) {
  if (layer === null) return head === null ? at : msg`${at}, head ${head}`;
  return head === null ? msg`${at}, layer ${layer}` : msg`${at}, layer ${layer}, head ${head}`;
}
