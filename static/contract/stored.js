/** Exact answers out of a session's stored values, whatever they are read from: a server or the page's own file. */

import { blockOf, headOf, isStored } from "../model/stored-values.js";

/** Layers whose frames are kept: one is looked at for a while, and its neighbours come next. */
const KEPT_LAYERS = 3;

/**
 * @param {{values: {level: string, layers: number}|null}|null} saved
 * @param {(place: {layer: number, step?: number}) => Promise<Object[]>} read the decoded values frames of a layer, of all
 *   steps in order or of the one named
 * @returns {Object<string, (wanted: Object) => Promise<Object>>} `head`, `block` and `lens` as the client's methods of
 *   those names, each where what is stored can answer it
 */
export function createStored(saved, read) {
  const kept = new Map();

  const framesOf = (layer) => {
    const reading = kept.get(layer) ?? read({ layer });
    kept.delete(layer);
    kept.set(layer, reading);
    if (kept.size > KEPT_LAYERS) kept.delete(kept.keys().next().value);
    reading.catch(() => kept.delete(layer));
    return reading;
  };

  const answers = {
    head: async ({ layer, ...place }) => headOf(await framesOf(layer), place),
    block: async ({ layer, ...place }) => blockOf(await framesOf(layer), place),
    lens: async ({ step }) => (await read({ step, layer: saved.values.layers - 1 }))[0].data.lens,
  };
  return Object.fromEntries(Object.entries(answers).filter(([name]) => isStored(saved, name)));
}
