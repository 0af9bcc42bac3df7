/** Computes rows of a text again, with the rows before them in the cache, as `observe` in kvscope/model/activations/observe.py. */

import { compute } from "../native/pass.js";
import { slotsOf } from "../runs/cache.js";

/** The most rows of a pass that nobody observes. */
const ROWS_AT_ONCE = 64;
/** Rows whose logits are in memory together. */
const LOGITS_AT_ONCE = 16;

/**
 * @typedef {Object} Text
 * @property {number[]} ids
 * @property {string} key of the changes with which its rows are computed (runs/changed.js)
 * @property {(rows: {first: number, count: number}) => Object[]} edits of a pass with these rows
 *
 * @typedef {(layer: number, value: (point: string) => Float32Array) => void} OnLayer
 *
 * @typedef {Object} Engine
 * @property {ReturnType<typeof import("../native/model.js").createModel>} model
 * @property {Object} info the model as an `open` frame describes it
 * @property {Object} tokenizer
 * @property {ReturnType<typeof import("../runs/service.js").createService>} service
 * @property {{prompt_tokens: number, new_tokens: number}} limits
 * @property {ReturnType<typeof import("./remembered.js").createRemembered>} remembered
 */

/** @returns {Text} tokens whose rows the model computes without changes */
export const plainText = (ids) => ({ ids, key: "", edits: () => [] });

/**
 * Computes the rows of a text before row `first`, unless the cache has them, and keeps them there until others need the room.
 *
 * @param {Engine} engine
 * @param {Text} text
 * @param {number} first
 * @param {(slots: (positions: number) => number[], keep: () => void) => Result} use `slots` gives those of the first positions; those from
 *   `first` on are its own. `keep` is called when all rows of the text are in them
 * @returns {Result}
 * @template Result
 */
export function withRowsBefore({ model, service }, { ids, key, edits }, first, use) {
  return service.withRows(ids.slice(0, first + 1), key, (table, count) => {
    const slots = (positions) => {
      service.cache.reach(table, positions);
      return slotsOf(table, positions);
    };
    for (let at = count; at < first; at += ROWS_AT_ONCE) {
      const some = ids.slice(at, Math.min(at + ROWS_AT_ONCE, first));
      const changes = edits({ first: at, count: some.length });
      compute(model, { ids: some, slots: slots(at + some.length), edits: changes, outs: [] }, () => null);
    }
    if (count < first) service.keepRows(ids.slice(0, first), key, table);
    return use(slots, () => service.keepRows(ids, key, table));
  });
}

/**
 * Computes the rows of a text from `first` on in one pass.
 *
 * @param {Engine} engine
 * @param {Text} text
 * @param {{first: number, outs?: number[], start?: number, end?: number, entering?: Float32Array|null, onLayer?: OnLayer}} of `first`: the
 *   first row; the rest as `compute` takes it
 * @param {(results: Object) => Result} [read] as `compute` takes it
 * @returns {Result}
 * @template Result
 */
export function observe(engine, text, { first, outs = [], ...of }, read = () => null) {
  const ids = text.ids.slice(first);
  const edits = text.edits({ first, count: ids.length });
  const { start = 0, end = engine.info.layers } = of;
  return withRowsBefore(engine, text, first, (slots, keep) => {
    const result = compute(engine.model, { ids, slots: slots(text.ids.length), edits, outs, ...of }, read);
    if (start === 0 && end === engine.info.layers) keep();
    return result;
  });
}

/**
 * Decodes rows of the residual stream by the final norm and the LM head.
 *
 * @param {Engine} engine
 * @param {Float32Array} rows [rows, d]
 * @param {(logits: Float32Array, summary: Object, row: number) => Result} read called for each row, before its logits are given back
 * @returns {Result[]}
 * @template Result
 */
export function decodeRows({ model }, rows, read) {
  const { d, vocab, layers } = model.shape;
  const results = [];
  for (let first = 0; first < rows.length / d; first += LOGITS_AT_ONCE) {
    const entering = rows.subarray(first * d, (first + LOGITS_AT_ONCE) * d);
    const none = new Array(entering.length / d).fill(0);
    const outs = none.map((_, row) => row);
    compute(model, { ids: none, slots: none, outs, start: layers.length, entering }, ({ logits, summary }) => {
      const all = outs.map((row) => read(logits.subarray(row * vocab, (row + 1) * vocab), summary(row), first + row));
      results.push(...all);
    });
  }
  return results;
}
