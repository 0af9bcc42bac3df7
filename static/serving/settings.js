/**
 * Settings of a round that the page's sentence lets people change, by their names in the log (docs/frames.md, Serving).
 * Another one is another entry, and a value in what is ready-made (asked.js): its field, its check and what is said where a
 * recorded round had another value follow.
 */

/**
 * @typedef {Object} Setting
 * @property {string} field
 * @property {string} name what a problem calls it
 * @property {string} label of its field
 * @property {[string, string]} words around its field in the sentence
 * @property {(text: string) => string} said of a round that had another value
 */

/** @type {Setting[]} */
export const SETTINGS = [
  {
    ...{ field: "at_once", name: "at once", label: "Answered at once", words: ["at most ", " at once,"] },
    said: (text) => `at most ${text} at once`,
  },
  {
    ...{ field: "chunk", name: "tokens of a prompt per pass", label: "Tokens of a prompt per pass" },
    words: ["", " tokens of a prompt a pass,"],
    said: (text) => `${text} tokens of a prompt a pass`,
  },
  {
    ...{ field: "blocks", name: "blocks", label: "Blocks of memory", words: ["at most ", " blocks"] },
    said: (text) => `at most ${text} blocks`,
  },
];

/** Of a round that is asked for by the sentence, and by no experiment. */
export const USUAL = { batching: /** @type {const} */ ("continuous"), sharing: true, reserve: false };
