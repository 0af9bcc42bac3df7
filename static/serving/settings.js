/**
 * Settings of a round that are in the page's form, by their names in the log (docs/frames.md, Serving). A further one needs an
 * entry here and a value in each preset (workload-form.js); its field, its check and its text follow.
 */

import { msg, nodes } from "../shared/words/msg.js";

/**
 * @typedef {Object} Setting
 * @property {string} field
 * @property {string} label of its field
 * @property {(field: Object) => any[]} inForm the field with the text around it
 * @property {(value: string) => string} text of a round that had another value
 */

/** @type {Setting[]} */
export const SETTINGS = [
  {
    field: "at_once",
    label: msg`Requests at once`,
    inForm: (field) => nodes`Limits: ${field} at once (the batch),`,
    text: (value) => msg`at most ${value} at once`,
  },
  {
    field: "chunk",
    label: msg`Prompt tokens per pass`,
    inForm: (field) => nodes`${field} prompt tokens per pass,`,
    text: (value) => msg`prompt tokens per pass: ${value}`,
  },
  {
    field: "blocks",
    label: msg`Blocks of memory`,
    inForm: (field) => nodes`${field} blocks of memory.`,
    text: (value) => msg`blocks: at most ${value}`,
  },
];

/** The other settings of a round that is no part of an experiment. */
export const USUAL = { batching: /** @type {const} */ ("continuous"), sharing: true, reserve: false };
