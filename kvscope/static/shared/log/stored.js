/** Reads the stored values of a session for exact answers, with a cache of layers. */

import { msg } from "../words/msg.js";
import { NOT_STORED, Problem } from "./problem.js";
import { blockOf, headOf } from "./stored-values.js";

/** Of a run that another program computed. */
const LENS_NOT_STORED = msg`The best guesses after each layer are not stored with this session.`;
/** The number of layers in the cache: viewers stay on a layer, then often go to its neighbours. */
const MOST_CACHED = 3;

/**
 * @param {{values?: {layers: number[]}|null}|null} saved
 * @param {Object} read
 * @param {(layer: number) => Promise<{frames: Object[], problem: Error|null}>} read.layer the values frames of a layer, of
 *   every step in order, as far as they are complete, and the problem that ended them
 * @param {(place: {step: number, layer: number}) => Promise<Object>} read.one the values frame of one step and layer
 * @returns {Object<string, (parameters: Object) => Promise<Object>>} answers to the questions `head`, `block` and
 *   `lens`, which throws a Problem if the last layer's values lack it; ask only for what `isStored`
 */
export function createStored(saved, read) {
  const cache = new Map();

  const readLayer = (layer) => {
    const reading = cache.get(layer) ?? read.layer(layer);
    cache.delete(layer);
    cache.set(layer, reading);
    if (cache.size > MOST_CACHED) cache.delete(cache.keys().next().value);
    // A failed read is not cached: it may succeed next time.
    reading.catch(() => cache.get(layer) === reading && cache.delete(layer));
    return reading;
  };

  /** Returns the frames up to a step, with all keys that its rows can read. */
  const framesTo = async (layer, step) => {
    const { frames, problem } = await readLayer(layer);
    if (frames.length > step) return frames.slice(0, step + 1);
    cache.delete(layer);
    throw problem ?? new RangeError(`no values of step ${step}`);
  };

  return {
    head: async ({ step, layer, head }) => headOf(await framesTo(layer, step), head),
    block: async ({ step, layer, position }) => blockOf(await framesTo(layer, step), position),
    lens: async ({ step }) => {
      const { data } = await read.one({ step, layer: saved.values.layers.at(-1) });
      if (!data.lens) throw new Problem({ title: LENS_NOT_STORED, status: NOT_STORED });
      return data.lens;
    },
  };
}
