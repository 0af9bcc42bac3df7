/**
 * What one place on the map says: which cell it is, its value, and where that value came from. Pure.
 */

import { readersOf, strongestCell } from "../../shared/facts/attention.js";
import { fixed, quoted, significant } from "../../shared/facts/format.js";

/** Of a row of the residual stream only K and V, made from it, outlive its step. */
function rowWhen(run, position, step) {
  if (isComputedAgain(run, position, step)) return "computed again in this step, and not kept after it";
  if (position < run.reused) return "never computed in this run: its K and V were read from the cache";
  if (run.stepOfQuery(position) === step) return "computed in this step, and not kept after it";
  return `from the record: the model did not keep it after step ${run.stepOfQuery(position)}`;
}

function cellWhen(run, position, step) {
  if (isComputedAgain(run, position, step)) return "computed again in this step: there is no cache";
  if (position < run.reused) return "read from the cache: an earlier run computed it";
  return run.stepOfQuery(position) === step
    ? "written in this step"
    : `in the cache since step ${run.stepOfQuery(position)}`;
}

/** Without a cache every step computes all rows. */
function isComputedAgain(run, position, step) {
  return run.open.study?.cache === "none" && run.stepOfQuery(position) < step;
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
  return hit.group === "attention" ? attentionFacts(run, hit) : cacheFacts(run, step, hit);
}

function residualFacts(run, step, { layer, positions }) {
  const read = (position) => run.residualNorm(layer, position);
  const position = largestIn(positions, read);
  return {
    title: `Residual row of ${quoted(run.tokens[position])}, position ${position}, after layer ${layer}`,
    value: lengthInWords(read(position)),
    notes: [rowWhen(run, position, step), ...gathered(positions, "positions")],
    place: { layer, query: position },
  };
}

function attentionFacts(run, { layer, head, keys, queries }) {
  const { query, key, weight } = strongestCell(run, layer, head, queries, keys);
  const place = { layer, head, query, key };
  if (query < run.reused) {
    return {
      title: `Layer ${layer}, head ${head}: ${quoted(run.tokens[query])} was not computed`,
      value: "read from the cache",
      notes: ["an earlier run computed its K and V; this one did not ask where it looks"],
      place: { layer, head },
    };
  }
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
    value: lengthInWords(read(position)),
    notes: [
      cellWhen(run, position, step),
      `block ${table[Math.floor(position / block)]}, slot ${position % block}; read by ${readers}`,
      ...gathered(positions, "positions"),
    ],
    place: { layer, kvHead, key: position },
  };
}

function lengthInWords(length) {
  return length === null ? "its length is not in the log" : `length ${significant(length)}`;
}

function largestIn([first, last], read) {
  let best = first;
  for (let position = first + 1; position <= last; position++) if (read(position) > read(best)) best = position;
  return best;
}

function gathered([first, last], noun) {
  return last > first ? [`the largest of ${noun} ${first}–${last}, which share this pixel`] : [];
}
