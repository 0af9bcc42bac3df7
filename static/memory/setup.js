/** Turns the text of the fields into the numbers of the formulas, or reports the first field that is wrong. Pure. */

import { msg } from "../shared/words/msg.js";
import { readConfig } from "./config.js";
import { BITS, GROUPS } from "./dtypes.js";
import { problemOf } from "./limits.js";

const WHOLE = /^\d+$/;
/** What people write between digits: commas, spaces, underscores. */
const SEPARATOR = /(?<=\d)[,\s_](?=\d)/g;
const SHOWN_CHARACTERS = 40;
const NUMBERS = ["requests", "context", "prefix", "gpus"];
const LABELS = {
  requests: msg`Requests at once`,
  context: msg`Tokens each`,
  prefix: msg`Shared prefix, tokens`,
  gpus: msg`Number of GPUs`,
};

/** The ids of the dtypes to choose from. `int4-32`: int4 with a scale for every 32 numbers. */
export const DTYPES = Object.entries(BITS).flatMap(([dtype, bits]) =>
  (bits > 8 ? [0] : GROUPS).map((group) => (group ? `${dtype}-${group}` : dtype)),
);

/**
 * @typedef {Object} Setup
 * @property {import("./parameters.js").Model} model
 * @property {string[]} notes what was assumed about a pasted config, in sentences
 * @property {import("./fits.js").Inputs & {gpu: Object}} inputs
 *
 * @param {import("./address.js").Texts} texts
 * @param {{models: Object[], gpus: Object[]}} known
 * @returns {{setup: Setup}|{problem: import("./limits.js").Problem}}
 */
export function readSetup(texts, { models, gpus }) {
  const read = texts.config
    ? readConfig(texts.config)
    : { model: models.find(({ id }) => id === texts.model), notes: [] };
  if ("problem" in read) return { problem: { field: "config", text: read.problem.text } };
  if (!read.model) return unknown("model", texts.model);
  const gpu = gpus.find(({ id }) => id === texts.gpu);
  if (!gpu) return unknown("gpu", texts.gpu);
  const wrong = ["cache", "weights"].find((field) => !DTYPES.includes(texts[field]));
  if (wrong) return unknown(wrong, texts[wrong]);
  const numbers = {};
  for (const field of NUMBERS) {
    const text = withoutSeparators(texts[field]);
    if (!WHOLE.test(text)) {
      const [label, given] = [LABELS[field], text.slice(0, SHOWN_CHARACTERS)];
      const problem = given ? msg`${label}: “${given}” is not a whole number.` : msg`${label}: enter a whole number.`;
      return { problem: { field, text: problem } };
    }
    numbers[field] = Number(text);
  }
  const inputs = { ...numbers, gpu, cache: storedOf(texts.cache), weights: storedOf(texts.weights) };
  const model = { ...read.model, name: read.model.name || msg`Your model` };
  const problem = problemOf(/** @type {*} */ (inputs), model);
  if (problem) return { problem };
  return { setup: { model, notes: read.notes, inputs: /** @type {*} */ (inputs) } };
}

/** @returns {string} the digits without separators of thousands */
export function withoutSeparators(text) {
  return text.trim().replace(SEPARATOR, "");
}

function unknown(field, text) {
  const given = text.slice(0, SHOWN_CHARACTERS);
  return { problem: { field, text: msg`The list has no “${given}”. Choose an entry of the list.` } };
}

/** @returns {import("./dtypes.js").Stored} */
function storedOf(text) {
  const [dtype, group] = text.split("-");
  return { dtype, group: Number(group ?? 0) };
}
