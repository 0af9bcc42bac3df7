/** What is sent when a run is shared, what it says in words, and which field a refusal is about. Pure. */

import { bytesShort } from "../facts/format.js";

/** A title taken from the prompt is cut to this many characters. */
const SHORT_TITLE = 80;
/** What a title cannot have: control characters, and those that turn the direction of the text around them. */
const NOT_IN_A_TITLE = /[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;

/** @returns {string} the prompt as one short line */
export function titleFrom(prompt) {
  const line = prompt.replace(NOT_IN_A_TITLE, " ").replace(/\s+/g, " ").trim();
  const characters = [...line];
  return characters.length > SHORT_TITLE
    ? `${characters
        .slice(0, SHORT_TITLE - 1)
        .join("")
        .trimEnd()}…`
    : line;
}

/** @returns {string|null} why the run in sight cannot be shared; null when it can */
export function shareRefusal(run) {
  if (!run?.open) return "Possible when there is a run";
  if (!run.close) return "Possible when the run has ended";
  return run.steps.length ? null : "This run ended before its first step: there is nothing to show";
}

/**
 * @param {{title: string, notes: Object[], atStart: boolean, values?: string}} draft
 * @param {Object} moment of `momentOf`
 * @returns {Object} the body of the request
 */
export function shareRequest({ title, notes, atStart, values = "attention" }, moment) {
  const kept = values === "attention" ? {} : { values };
  return { title: title.trim(), notes, ...(atStart ? {} : { open: moment }), ...kept };
}

/** How much of its exact values a shared run keeps, and what that is good for. */
export const KEPT = [
  {
    level: "attention",
    name: "The run itself",
    text: "Every attention weight, within 0.004, and all token probabilities. Exact numbers show only where this model runs.",
  },
  {
    level: "qkv",
    name: "Also Q, K and V",
    text: "Every head and dot product shows its exact numbers anywhere, without the model. So do the guesses after each layer.",
  },
  {
    level: "block",
    name: "Also every value inside the blocks",
    text: "The block view too works without the model. Values other than Q, K and V are rounded to 16 bits.",
  },
];

/**
 * @param {{bytes: number, estimated: boolean, refusal: string|null}|undefined} level as the server says it
 * @returns {string} "1.2 MB", "about 15.9 MB"
 */
export function sizeInWords(level) {
  if (!level) return "";
  return `${level.estimated ? "about " : ""}${bytesShort(level.bytes)}`;
}

/** @returns {Object} a note on the moment in sight; `pinned`: on its layer and head too */
export function noteOn({ step, layer, head }, text, pinned) {
  return { step, layer: pinned ? layer : null, head: pinned ? head : null, text: text.trim() };
}

/** @returns {string|null} "title", "notes", "open" or "values": the part of the form that a refusal is about; null: none of them */
export function partOfField(field) {
  return (
    ["title", "notes", "open", "values"].find(
      (part) => field === part || field?.startsWith(`${part}.`) || field?.startsWith(`${part}[`),
    ) ?? null
  );
}

/** @returns {boolean} whether a text could be a delete token: anything else could not even be sent as one */
export function isToken(text) {
  return /^[!-~]+$/.test(text);
}
