/**
 * What one place on the map says: which cell it is, its value, and where that value came from. Pure.
 */

import { counted, fixed, percent, quoted, significant } from "./format.js";

/** @returns {number} the K/V head a query head reads (grouped-query attention: heads in equal consecutive groups) */
export function kvHeadOf(run, head) {
  return Math.floor(head / (run.heads / run.kvHeads));
}

/** @returns {[number, number]} first and last query head that read a K/V head */
export function readersOf(run, kvHead) {
  const size = run.heads / run.kvHeads;
  return [kvHead * size, (kvHead + 1) * size - 1];
}

/** @returns {string} when the row at a position was computed, seen from a step */
export function computedWhen(run, position, step) {
  const at = run.stepOfQuery(position);
  if (at === step) return "computed in this step";
  return at === 0 ? "computed in prefill, step 0, not touched since" : `computed at step ${at}, not touched since`;
}

/**
 * The cell under the pointer: the strongest one where a pixel stands for several.
 *
 * @param {Object} hit from hitMap
 * @returns {{title: string, value: string, notes: string[], place: Object}}
 *   `place`: {layer, head?, kvHead?, query?, key?} to light up everywhere
 */
export function factsAt(run, step, hit) {
  if (hit.group === "residual") return residualFacts(run, step, hit);
  return hit.group === "attention" ? attentionFacts(run, step, hit) : cacheFacts(run, step, hit);
}

function residualFacts(run, step, { layer, positions }) {
  const read = (position) => run.residualNorm(layer, position);
  const position = largestIn(positions, read);
  return {
    title: `Residual row of ${quoted(run.tokens[position])}, position ${position}, after layer ${layer}`,
    value: `length ${significant(read(position))}`,
    notes: [computedWhen(run, position, step), ...gathered(positions, "positions")],
    place: { layer, query: position },
  };
}

function attentionFacts(run, step, { layer, head, keys, queries }) {
  const { query, key, weight } = strongestCell(run, layer, head, queries, keys);
  const place = { layer, head, query, key };
  if (weight === null) {
    return {
      title: `Layer ${layer}, head ${head}: masked`,
      value: "no weight",
      notes: [`${quoted(run.tokens[query])} may not look at tokens after it`],
      place: { layer, head },
    };
  }
  return {
    title: `Layer ${layer}, head ${head}: ${quoted(run.tokens[query])} looks at ${quoted(run.tokens[key])}`,
    value: `weight ${fixed(weight, 3)} ± 0.004`,
    notes: [
      `query at position ${query}, key at position ${key}`,
      ...gathered(keys, "keys"),
      ...gathered(queries, "queries"),
    ],
    place,
  };
}

function cacheFacts(run, step, { layer, kind, kvHead, positions }) {
  const read = (position) => (kind === "K" ? run.kNorm : run.vNorm).call(run, layer, kvHead, position);
  const position = largestIn(positions, read);
  const block = run.open.block_size;
  const { block_table: table } = run.steps[step].data.kv;
  const [first, last] = readersOf(run, kvHead);
  const readers = first === last ? `head ${first}` : `heads ${first}–${last}`;
  return {
    title: `${kind} of ${quoted(run.tokens[position])}, position ${position}, layer ${layer}, KV head ${kvHead}`,
    value: `length ${significant(read(position))}`,
    notes: [
      run.stepOfQuery(position) === step
        ? "written in this step"
        : `in the cache since step ${run.stepOfQuery(position)}`,
      `block ${table[Math.floor(position / block)]}, slot ${position % block}; read by ${readers}`,
      ...gathered(positions, "positions"),
    ],
    place: { layer, kvHead, key: position },
  };
}

/** @returns {{query: number, key: number, weight: number|null}} the strongest cell of a rectangle; null: all masked */
export function strongestCell(run, layer, head, queries, keys) {
  let best = { query: queries[1], key: keys[0], weight: null };
  for (let query = queries[0]; query <= queries[1]; query++) {
    for (let key = keys[0]; key <= Math.min(keys[1], query); key++) {
      const weight = run.weight(layer, head, query, key);
      if (weight !== null && (best.weight === null || weight > best.weight)) best = { query, key, weight };
    }
  }
  return best;
}

function largestIn([first, last], read) {
  let best = first;
  for (let position = first + 1; position <= last; position++) if (read(position) > read(best)) best = position;
  return best;
}

function gathered([first, last], noun) {
  return last > first ? [`the largest of ${noun} ${first}–${last}, which share this pixel`] : [];
}

/**
 * @param {{status: string, values: Object|null, row: number}} [exact] as `useHeadValues` gives it for this query
 * @returns {{weights: Float32Array, exact: boolean}|null} the weight of each key of a query row: the model's own numbers, else
 *   those of the log, within 0.004; null where the log has no such row
 */
export function rowWeights(run, layer, head, query, exact = null) {
  if (exact?.status === "ready") {
    const { shape, data } = exact.values.weights;
    const start = exact.row * shape.at(-1);
    return { weights: data.subarray(start, start + query + 1), exact: true };
  }
  const row = run.row(layer, head, query);
  return row && { weights: Float32Array.from(row, (code) => (code / 255) ** 2), exact: false };
}

/**
 * @param {ArrayLike<number>} weights of each key, or what rises with them
 * @returns {{key: number, weight: number}[]} the keys with the largest, strongest first
 */
export function topKeys(weights, count) {
  const best = [];
  for (let key = 0; key < weights.length; key++) {
    if (best.length === count && weights[key] <= weights[best[count - 1]]) continue;
    const after = best.findIndex((other) => weights[other] < weights[key]);
    best.splice(after < 0 ? best.length : after, 0, key);
    if (best.length > count) best.pop();
  }
  return best.map((key) => ({ key, weight: weights[key] }));
}

/** @returns {string} one measured sentence about a query row; `row` as `rowWeights` gives it */
export function headSentence(run, layer, head, query, row = rowWeights(run, layer, head, query)) {
  if (!row) return `Head ${head} of layer ${layer}`;
  const looker = quoted(run.tokens[query]);
  if (query === 0) return `Head ${head} of layer ${layer}: ${looker} is the first token and can look only at itself`;
  const [best] = topKeys(row.weights, 1);
  const target = best.key === query ? "itself" : quoted(run.tokens[best.key]);
  return `Head ${head} of layer ${layer}: ${looker} looks most at ${target} (${percent(best.weight, 0)})`;
}

/** @returns {string} where that key stands, in words */
export function whereKeyStands(query, key) {
  if (key === query) return "its own position";
  if (key === 0) return "the first token";
  return query - key === 1 ? "the token just before" : `${counted(query - key, "token")} back`;
}
