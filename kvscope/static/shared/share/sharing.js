/** The request that shares a run, its texts, and the field that a refusal is about. Pure. */

import { bytesShort } from "../facts/format.js";
import { msg } from "../words/msg.js";

/** A title taken from the prompt is cut to this many characters. */
const SHORT_TITLE = 80;
/** Not allowed in a title: control characters, and those that change the direction of nearby text. */
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

/**
 * @param {{title: string, notes: Object[], atStart: boolean, values?: string}} draft
 * @param {Object} moment of `momentOf`
 * @returns {Object} the body of the request
 */
export function shareRequest({ title, notes, atStart, values = "attention" }, moment) {
  const stored = values === "attention" ? {} : { values };
  return { title: title.trim(), notes, ...(atStart ? {} : { open: moment }), ...stored };
}

/**
 * @param {{bytes: number, estimated: boolean, refusal: string|null}|undefined} level of the server's answer
 * @returns {string} "1.2 MB", "about 15.9 MB"
 */
export function sizeInWords(level) {
  if (!level) return "";
  const size = bytesShort(level.bytes);
  return level.estimated ? msg`about ${size}` : size;
}

/** @returns {Object} a note on the current step; `pinned`: on its layer and head too */
export function noteOn({ step, layer, head }, text, pinned) {
  return { step, layer: pinned ? layer : null, head: pinned ? head : null, text: text.trim() };
}

/** @returns {string|null} "title", "notes", "open" or "values": the part of the form that a refusal is about; null if none */
export function partOfField(field) {
  return (
    ["title", "notes", "open", "values"].find(
      (part) => field === part || field?.startsWith(`${part}.`) || field?.startsWith(`${part}[`),
    ) ?? null
  );
}

/** @returns {boolean} whether a text could be a delete token; other text cannot be sent in a header */
export function isToken(text) {
  return /^[!-~]+$/.test(text);
}
