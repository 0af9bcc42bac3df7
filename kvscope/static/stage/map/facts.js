/**
 * The tooltip of a cell on the map: which cell it is, its value, and where that value comes from. Pure.
 */

import { readersOf, strongestCell } from "../../shared/facts/attention.js";
import { changeInWords, changesAt } from "../../shared/facts/changes.js";
import { fixed, percent, quoted, significant } from "../../shared/facts/format.js";
import { isInherited } from "../../shared/facts/step-rows.js";
import { blockSizeOf } from "../../shared/log/model.js";
import { msg } from "../../shared/words/msg.js";

/** Returns when a row was computed. A row of the residual stream is dropped after its step; K and V stay cached. */
function rowWhen(run, position, step) {
  if (isComputedAgain(run, position, step)) return msg`computed again in this step and dropped after it`;
  if (position < run.reused) return msg`not computed in this run: its K and V were read from the cache`;
  const computedIn = run.stepOfQuery(position);
  if (isInherited(run, computedIn))
    return msg`from the log: the run that this one branched from computed it in step ${computedIn}`;
  if (computedIn === step) return msg`computed in this step and dropped after it`;
  return msg`from the log: the model dropped it after step ${computedIn}`;
}

function cellWhen(run, layer, position, step) {
  if (position < run.firstHeld(layer, step))
    return msg`dropped: this layer is local and keeps only blocks with one of the newest ${run.window(layer)} positions`;
  if (isComputedAgain(run, position, step)) return msg`computed again in this step: there is no cache`;
  if (position < run.reused) return msg`read from the cache: an earlier run computed it`;
  const writtenIn = run.stepOfQuery(position);
  if (isInherited(run, writtenIn))
    return msg`in the cache: the run that this one branched from computed it in step ${writtenIn}`;
  return writtenIn === step ? msg`written in this step` : msg`in the cache since step ${writtenIn}`;
}

/** Returns whether this step computes a row again: without a cache every step computes all rows. */
function isComputedAgain(run, position, step) {
  return run.open.study?.cache === "none" && run.stepOfQuery(position) < step;
}

/**
 * Describes the cell under the pointer; if several share a pixel, the strongest.
 *
 * @param {Object} hit from hitMap
 * @returns {{title: string, value: string, notes: string[], place: Object}}
 *   `place`: {layer, head?, kvHead?, query?, key?} to highlight on the whole page
 */
export function factsAt(run, step, hit) {
  const facts = cellFacts(run, step, hit);
  const changes = changesAt(run.open.changed?.changes ?? [], facts.place, run);
  return {
    ...facts,
    notes: [...facts.notes, ...changes.map((change) => msg`Changed in this run: ${changeInWords(change, run.tokens)}`)],
  };
}

function cellFacts(run, step, hit) {
  if (hit.group === "residual") return residualFacts(run, step, hit);
  return hit.group === "attention" ? attentionFacts(run, hit) : cacheFacts(run, step, hit);
}

function residualFacts(run, step, { layer, positions }) {
  const read = (position) => run.residualNorm(layer, position);
  const position = largestIn(positions, read);
  const token = quoted(run.tokens[position]);
  return {
    title: msg`Residual row of ${token}, position ${position}, after layer ${layer}`,
    value: lengthInWords(read(position)),
    notes: [rowWhen(run, position, step), ...routed(run, layer, position), ...sharedPixel(positions, SHARED.positions)],
    place: { layer, query: position },
  };
}

/** Returns the experts that computed the row, if the layer's MLP has experts. */
function routed(run, layer, position) {
  const experts = run.experts(layer, position).map(({ expert, share }) => `${expert} (${percent(share, 0)})`);
  return experts.length ? [msg`the router chose experts ${experts.join(", ")}`] : [];
}

function attentionFacts(run, { layer, head, keys, queries }) {
  const { query, key, weight } = strongestCell(run, layer, head, queries, keys);
  const place = { layer, head, query, key };
  const [token, other] = [query, key].map((position) => quoted(run.tokens[position]));
  if (query < run.reused) {
    return {
      title: msg`Layer ${layer}, head ${head}: ${token} was not computed`,
      value: msg`read from the cache`,
      notes: [msg`An earlier run computed its K and V; this run has no weights of it.`],
      place: { layer, head },
    };
  }
  if (weight === null && key <= query) {
    return {
      title: msg`Layer ${layer}, head ${head}: outside the window`,
      value: msg`no weight`,
      notes: [msg`This layer is local: ${token} reads only the newest ${run.window(layer)} keys`],
      place: { layer, head },
    };
  }
  if (weight === null) {
    return {
      title: msg`Layer ${layer}, head ${head}: masked`,
      value: msg`no weight`,
      notes: [msg`${token} cannot look at later tokens`],
      place: { layer, head },
    };
  }
  const size = fixed(weight, 3);
  return {
    title: msg`Layer ${layer}, head ${head}: ${token} looks at ${other}`,
    value: msg`weight ${size} ± 0.004`,
    notes: [
      msg`query at position ${query}, key at position ${key}`,
      ...sharedPixel(keys, SHARED.keys),
      ...sharedPixel(queries, SHARED.queries),
    ],
    place,
  };
}

function cacheFacts(run, step, { layer, kind, kvHead, positions }) {
  const read = (position) => (kind === "K" ? run.kNorm : run.vNorm).call(run, layer, kvHead, position);
  const position = largestIn(positions, read);
  const slot = position % blockSizeOf(run);
  const block = run.steps[step].data.kv?.block_table?.[Math.floor(position / blockSizeOf(run))];
  const [first, last] = readersOf(run, kvHead);
  const token = quoted(run.tokens[position]);
  return {
    title: msg`${kind} of ${token}, position ${position}, layer ${layer}, KV head ${kvHead}`,
    value: lengthInWords(read(position)),
    notes: [
      cellWhen(run, layer, position, step),
      block === undefined
        ? first === last
          ? msg`read by head ${first}`
          : msg`read by heads ${first}–${last}`
        : first === last
          ? msg`block ${block}, slot ${slot}; read by head ${first}`
          : msg`block ${block}, slot ${slot}; read by heads ${first}–${last}`,
      ...sharedPixel(positions, SHARED.positions),
    ],
    place: { layer, kvHead, key: position },
  };
}

function lengthInWords(length) {
  if (length === null) return msg`The log does not have its length.`;
  const size = significant(length);
  return msg`length ${size}`;
}

function largestIn([first, last], read) {
  let best = first;
  for (let position = first + 1; position <= last; position++) if (read(position) > read(best)) best = position;
  return best;
}

const SHARED = {
  positions: (first, last) => msg`the largest of positions ${first}–${last}, which share this pixel`,
  keys: (first, last) => msg`the largest of keys ${first}–${last}, which share this pixel`,
  queries: (first, last) => msg`the largest of queries ${first}–${last}, which share this pixel`,
};

function sharedPixel([first, last], sentence) {
  return last > first ? [sentence(first, last)] : [];
}
