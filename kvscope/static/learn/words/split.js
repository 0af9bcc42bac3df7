/** Splits the typed text into words. Pure. */

import { integer } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";

/** A message repeats this many characters of a word that is too long. */
const SHOWN_CHARS = 12;

/**
 * @param {string} text words with commas between them
 * @param {{most: number, chars: number}} limits most words, and most characters of one
 * @returns {{words: string[], problem: string}} each once, in order
 */
export function wordsOf(text, { most, chars }) {
  const typed = text.split(/[,;\n]/).map((word) => word.trim().replace(/\s+/g, " "));
  const all = [...new Set(typed)].filter(Boolean);
  const words = all.filter((word) => [...word].length <= chars).slice(0, most);
  const long = all.find((word) => [...word].length > chars);
  if (long) {
    const letters = [...long];
    return {
      words,
      problem: msg`“${letters.slice(0, SHOWN_CHARS).join("")}…” has ${integer(letters.length)} characters; a word may have ${chars}.`,
    };
  }
  if (all.length > most)
    return { words, problem: msg`There are ${integer(all.length)} words; the first ${most} are shown.` };
  return { words, problem: words.length < 2 ? msg`Enter at least two words, with commas between them.` : "" };
}
