/** Turns the texts of the fields into the numbers of the formulas, or reports the first wrong field. Pure. */

import { BITS, GROUPS, SCALED } from "../shared/sizes/dtypes.js";
import { EXPERTS } from "../shared/sizes/layout.js";
import { msg } from "../shared/words/msg.js";
import { readConfig } from "./config.js";
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
  memory: msg`Memory of your GPU, GB`,
  bandwidth: msg`Bandwidth of your GPU, GB/s`,
  peak: msg`Peak of your GPU, TFLOP/s`,
};

/** The ids of the dtypes to choose from. `int4-32`: int4 with a scale for every 32 numbers. */
export const DTYPES = Object.entries(BITS).flatMap(([dtype, bits]) =>
  (bits > 8 || dtype in SCALED ? [0] : GROUPS).map((group) => (group ? `${dtype}-${group}` : dtype)),
);
/** The ids of the dtypes of weights. `bf16+mxfp4`: bf16, with experts in mxfp4. */
export const WEIGHTS = [...DTYPES, "bf16+mxfp4"];

/** The id of a GPU whose numbers the visitor enters: in GB, GB/s and TFLOP/s. */
export const OWN_GPU = "own";
const OWN_UNITS = { memory: 1e9, bandwidth: 1e9, peak: 1e12 };
const DECIMAL = /^\d{1,9}(\.\d{1,6})?$/;

/**
 * @typedef {Object} Setup
 * @property {import("../shared/sizes/parameters.js").Model} model
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
  const own = texts.gpu === OWN_GPU ? ownGpu(texts) : { gpu: gpus.find(({ id }) => id === texts.gpu) };
  if ("problem" in own) return own;
  const { gpu } = own;
  if (!gpu) return unknown("gpu", texts.gpu);
  const allowed = { cache: DTYPES, weights: WEIGHTS, experts: EXPERTS };
  const wrong = Object.keys(allowed).find((field) => !allowed[field].includes(texts[field]));
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
  const tp = groupSizeOf(texts.tp, numbers.gpus);
  if (tp === null) {
    const [given, count] = [texts.tp.slice(0, SHOWN_CHARACTERS), numbers.gpus];
    return {
      problem: { field: "tp", text: msg`${count} GPUs do not form groups of “${given}”. Choose an entry of the list.` },
    };
  }
  const layout = { tp, experts: texts.experts };
  const inputs = { ...numbers, ...layout, gpu, cache: storedOf(texts.cache), weights: storedOf(texts.weights) };
  const model = { ...read.model, name: read.model.name || msg`Your model` };
  const problem = problemOf(/** @type {*} */ (inputs), model);
  if (problem) return { problem };
  return { setup: { model, notes: read.notes, inputs: /** @type {*} */ (inputs) } };
}

/** @returns {number|null} GPUs of a group; null if they do not divide all GPUs. One GPU is a group, whatever the field says */
function groupSizeOf(text, gpus) {
  if (text === "all" || gpus === 1) return gpus;
  return /^[1-9]\d*$/.test(text) && gpus % Number(text) === 0 ? Number(text) : null;
}

/** @returns {{gpu: Object}|{problem: import("./limits.js").Problem}} */
function ownGpu(texts) {
  const values = {};
  for (const [field, unit] of Object.entries(OWN_UNITS)) {
    const text = withoutSeparators(texts[field]);
    if (!DECIMAL.test(text) || Number(text) === 0) {
      const [label, given] = [LABELS[field], text.slice(0, SHOWN_CHARACTERS)];
      return { problem: { field, text: msg`${label}: “${given}” is not a number above 0.` } };
    }
    values[field] = Math.round(Number(text) * unit);
  }
  const { memory, bandwidth, peak } = values;
  return { gpu: { id: OWN_GPU, name: msg`your GPU`, memory, bandwidth, flops: peak, peaks: {}, sources: [] } };
}

/** @returns {string} the digits without separators of thousands */
export function withoutSeparators(text) {
  return text.trim().replace(SEPARATOR, "");
}

function unknown(field, text) {
  const given = text.slice(0, SHOWN_CHARACTERS);
  return { problem: { field, text: msg`The list has no “${given}”. Choose an entry of the list.` } };
}

/** @returns {import("../shared/sizes/dtypes.js").Stored} */
function storedOf(text) {
  const [all, experts] = text.split("+");
  const [dtype, group] = all.split("-");
  return { dtype, group: Number(group ?? 0), ...(experts && { experts: storedOf(experts) }) };
}
