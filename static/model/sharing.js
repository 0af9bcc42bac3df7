/** What is sent when a run is shared, what it says in words, and which field a refusal is about. Pure. */

import { placeOf } from "./saved-run.js";

/** As much as the server takes: characters of a title and of a note, and notes. */
export const MOST = { title: 200, text: 2000, notes: 50 };
/** A title taken from the prompt is cut to this many characters. */
const SHORT_TITLE = 80;
/** What a title cannot have: control characters, and those that turn the direction of the text around them. */
const NOT_IN_A_TITLE = /[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;

/** @returns {string} the prompt as one short line */
export function titleFrom(prompt) {
  const line = prompt.replace(NOT_IN_A_TITLE, " ").replace(/\s+/g, " ").trim();
  const characters = [...line];
  return characters.length > SHORT_TITLE ? `${characters.slice(0, SHORT_TITLE - 1).join("").trimEnd()}…` : line;
}

/** @returns {Object} the moment in sight, as a link would name it */
export function momentOf({ step, selection }) {
  const { layer, head, query, key, view } = selection;
  return { step, layer, head, query, key, view };
}

/** @returns {string} "Step 3, layer 13, head 8, in the view “head”" */
export function momentInWords(moment) {
  const place = placeOf(moment);
  return `${place[0].toUpperCase()}${place.slice(1)}, in the view “${moment.view === "pair" ? "query·key" : moment.view}”`;
}

/** @returns {string|null} why the run in sight cannot be shared; null when it can */
export function shareRefusal(run) {
  if (!run?.open) return "Possible when there is a run";
  if (run.saved) return "This run is shared already: its link is this page’s address";
  if (!run.close) return "Possible when the run has ended";
  return run.steps.length ? null : "This run ended before its first step: there is nothing to show";
}

/**
 * @param {{title: string, notes: Object[], atStart: boolean}} draft
 * @param {Object} moment of `momentOf`
 * @returns {Object} the body of the request
 */
export function shareRequest({ title, notes, atStart }, moment) {
  return { title: title.trim(), notes, ...(atStart ? {} : { open: moment }) };
}

/** @returns {Object} a note on the moment in sight; `pinned`: on its layer and head too */
export function noteOn({ step, layer, head }, text, pinned) {
  return { step, layer: pinned ? layer : null, head: pinned ? head : null, text: text.trim() };
}

/** @returns {"title"|"notes"|"open"|null} the part of the form that a refusal is about; null: none of them */
export function partOfField(field) {
  return ["title", "notes", "open"].find((part) => field === part || field?.startsWith(`${part}.`) || field?.startsWith(`${part}[`)) ?? null;
}
