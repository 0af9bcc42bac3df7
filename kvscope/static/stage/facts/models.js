/**
 * The models of a server that has several, as `/api/models` lists them: which one computes the next run, which one computed the shown
 * run, and the facts about each. Pure.
 *
 * @typedef {{name: string, state: string, message: string, done: number, total: number, compiled: string, refusal: string|null,
 *   parameters: number|null, bytes: number|null, is_here: boolean, memory: number, measured: boolean, licence: string|null,
 *   shows: string, model: Object|null}} Offered
 */

import { bytesShort, integer, short } from "../../shared/facts/format.js";
import { form, msg, plural } from "../../shared/words/msg.js";

const UNKNOWN = { state: "loading", message: "", done: 0, total: 0, model: null };

/** @returns {Offered|undefined} the model that computed the shown run; the first if this server does not have it */
export function modelOfRun({ models, run }) {
  return models.find(({ name }) => name === run?.open?.model.name) ?? models[0];
}

/** @returns {Offered|null} the model that computed the shown run, if the server has it and it is not loaded */
export function unloadedModel({ models, run }) {
  return models.find(({ name, state }) => name === run?.open?.model.name && state === "unloaded") ?? null;
}

/** @returns {Offered|undefined} the model of the next run: the chosen one, else that of the shown run */
export function chosenModel(state) {
  return state.models.find(({ name }) => name === state.model) ?? modelOfRun(state);
}

/** @returns {Object} the state of a model, in the form of `/readyz` */
export function readinessOf(model) {
  const { state, message, done, total, model: loaded, compiled = "" } = model ?? UNKNOWN;
  return { state, phase: state, message, done, total, model: loaded, compiled };
}

/** @returns {Object} the state of the model of the next run */
export function nextReadiness(state) {
  return state.severalModels ? readinessOf(chosenModel(state)) : state.readiness;
}

/** @returns {boolean} whether a model is being loaded into memory */
export const isOnItsWay = ({ state }) => ["fetching", "loading", "restarting"].includes(state);

/** @param {Offered} model  @returns {string} its state in a word */
export function stateText({ state, refusal }) {
  if (refusal) return msg`cannot be used`;
  if (state === "ready") return msg`loaded`;
  if (state === "failed") return msg`could not be loaded`;
  return state === "unloaded" ? msg`not loaded` : msg`loading`;
}

/** @param {Offered} model  @returns {string} its size and terms: "135M parameters · 98.4 MB on disk · Apache-2.0" */
export function sizeText({ parameters, bytes, is_here: isHere, licence }) {
  const count = parameters && short(parameters, "");
  const size = bytes && bytesShort(bytes);
  return [
    count && msg`${count} parameters`,
    size && (isHere ? msg`${size} on disk` : msg`${size} to download`),
    licence ?? msg`licence not stated here`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** @param {Offered} model  @returns {string} the memory that it takes or needs */
export function memoryText({ state, memory, measured }) {
  const size = bytesShort(memory);
  if (state === "ready") return msg`It takes ${size} of memory (measured).`;
  return measured
    ? msg`It takes ${size} of memory (measured when it was last loaded).`
    : msg`It needs about ${size} of memory (estimated).`;
}

/**
 * @param {Object} model the `model` object of a log
 * @returns {string[]} a sentence for each way in which it differs from a model with equal layers and heads
 */
export function peculiarities({ layers, heads, kv_heads: kvHeads, windows, experts, positions }) {
  const windowed = (windows ?? []).filter((window) => window !== null);
  const [narrowest, all, some] = [Math.min(...windowed), integer(layers), integer(windowed.length)];
  return [
    windowed.length > 0 &&
      msg`${some} of ${all} layers see the last ${integer(narrowest)} tokens alone; earlier keys and values leave their cache.`,
    kvHeads < heads &&
      plural(
        kvHeads,
        form`${integer(heads)} query heads share ${integer(kvHeads)} set of keys and values.`,
        form`${integer(heads)} query heads share ${integer(kvHeads)} sets of keys and values.`,
      ),
    experts && msg`Each token goes through ${integer(experts.chosen)} of ${integer(experts.count)} experts in the MLP.`,
    positions === "learned" && msg`Positions are learned vectors: there is no rotation of queries and keys to see.`,
  ].filter(Boolean);
}
