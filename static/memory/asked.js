/** What is in the fields, as numbers that the formulas take; or what is wrong with the first that they do not. Pure. */

import { readConfig } from "./config.js";
import { BITS, GROUPS } from "./dtypes.js";
import { problemOf } from "./limits.js";

/** Digits, with commas, spaces or underscores between them. */
const WHOLE = /^\d+$/;
const BETWEEN = /(?<=\d)[,\s_](?=\d)/g;
const SHOWN = 40;
const NUMBERS = ["requests", "context", "prefix", "gpus"];
const NAMES = {
  requests: "The number of people",
  context: "The context",
  prefix: "The shared prefix",
  gpus: "The number of GPUs",
};

/** The dtypes to choose from: those of a byte and less also with scales, as `int4-32` for one that 32 numbers share. */
export const DTYPES = Object.entries(BITS).flatMap(([dtype, bits]) =>
  (bits > 8 ? [0] : GROUPS).map((group) => (group ? `${dtype}-${group}` : dtype)),
);

/**
 * @typedef {Object} Understood
 * @property {import("./parameters.js").Model} model
 * @property {string[]} notes what was assumed of a pasted config
 * @property {import("./fits.js").Inputs & {gpu: Object}} inputs
 *
 * @param {import("./address.js").Texts} texts
 * @param {{models: Object[], gpus: Object[]}} known
 * @returns {{understood: Understood}|{problem: import("./limits.js").Problem}}
 */
export function understand(texts, { models, gpus }) {
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
    const text = withoutBetween(texts[field]);
    if (!WHOLE.test(text)) {
      const said = text ? `“${text.slice(0, SHOWN)}” is not a whole number` : "is empty";
      return { problem: { field, text: `${NAMES[field]}: ${said}.` } };
    }
    numbers[field] = Number(text);
  }
  const inputs = { ...numbers, gpu, cache: storedOf(texts.cache), weights: storedOf(texts.weights) };
  const model = { ...read.model, name: read.model.name || "Your model" };
  const problem = problemOf(/** @type {*} */ (inputs), model);
  if (problem) return { problem };
  return { understood: { model, notes: read.notes, inputs: /** @type {*} */ (inputs) } };
}

/** @returns {string} without what stands between thousands */
export function withoutBetween(text) {
  return text.trim().replace(BETWEEN, "");
}

function unknown(field, text) {
  return { problem: { field, text: `There is no “${text.slice(0, SHOWN)}” here: choose one of the list.` } };
}

/** @returns {import("./dtypes.js").Stored} */
function storedOf(text) {
  const [dtype, group] = text.split("-");
  return { dtype, group: Number(group ?? 0) };
}
