/** What the effects of switching parts off say, beside where heads look. Pure. */

import { weightOf } from "../../../shared/log/companding.js";

/** A head counts as looking at a token when it gives it at least this weight. */
const LOOKS = 0.5;

/**
 * @typedef {{logprob: number, kl: number, best: Object}} Prediction of the log's contract, `effects`
 */

/**
 * Returns where each head looks from the newest token of a step: its largest weight on any token but the first.
 *
 * @param {import("../../../shared/log/run.js").Run} run
 * @returns {{share: number, key: number|null}[]} layer by layer; `key` null if the first token is the only one
 */
export function looksOf(run, step) {
  const query = run.lastQueryOfStep(step);
  return Array.from({ length: run.layers * run.heads }, (_, at) => {
    const row = run.row(Math.floor(at / run.heads), at % run.heads, query);
    let key = null;
    for (let each = 1; each <= query; each++) if (key === null || row[each] > row[key]) key = each;
    return { share: key === null ? 0 : weightOf(row[key]), key };
  });
}

/** @returns {number} 0…1: the square root of the distance, as a share of the largest one */
export function depth(kl, largest) {
  return largest > 0 ? Math.sqrt(Math.max(0, kl) / largest) : 0;
}

/** @returns {number} 0…255: the shade of an effect in a theme's scale */
export const shadeOf = ({ kl }, largest) => Math.round(255 * depth(kl, largest));

/** @returns {number[]} the numbers of the parts, the largest effect first */
export function ranked(effects) {
  return effects.map((_, at) => at).sort((a, b) => effects[b].kl - effects[a].kl);
}

/** @returns {number} the median of the distances */
export function medianKl(effects) {
  const sorted = effects.map(({ kl }) => kl).sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/**
 * Compares where heads look with what they change.
 *
 * @param {{share: number}[]} looks
 * @param {Prediction[]} effects of all heads
 * @param {Prediction} base
 * @returns {{largest: number, flips: number, looking: number, lookingFlips: number, median: number, looksMost: number|null,
 *   mattersMost: number|null}} `largest`: the head with the largest effect; `flips`: heads without which another token is the
 *   likeliest; `looking`: heads with at least half of their weight on one token that is not the first, `lookingFlips` those of them
 *   that flip; `looksMost`: of the heads with no more than the median effect the one that looks most, if it looks; `mattersMost`: of
 *   the heads that look less than the median head, the one with the largest effect, if it is more than the median effect
 */
export function compared(looks, effects, base) {
  const order = ranked(effects);
  const median = medianKl(effects);
  const shares = looks.map(({ share }) => share).sort((a, b) => a - b);
  const usual = shares[shares.length >> 1];
  const flips = (at) => effects[at].best.id !== base.best.id;
  const quiet = order.filter((at) => effects[at].kl <= median && looks[at].share >= LOOKS);
  const blind = order.find((at) => looks[at].share < usual && effects[at].kl > median);
  const looking = order.filter((at) => looks[at].share >= LOOKS);
  return {
    largest: order[0],
    flips: order.filter(flips).length,
    looking: looking.length,
    lookingFlips: looking.filter(flips).length,
    median,
    looksMost: quiet.sort((a, b) => looks[b].share - looks[a].share)[0] ?? null,
    mattersMost: blind ?? null,
  };
}

/**
 * Moves the labels beside a map apart, so that no two overlap.
 *
 * @param {number[]} rows the row of each label's part, from 0 at the top
 * @param {number} least rows between two
 * @param {number} count of rows
 * @returns {number[]} the row of each label, in the same order
 */
export function apart(rows, least, count) {
  const order = rows.map((_, at) => at).sort((a, b) => rows[a] - rows[b]);
  const places = new Array(rows.length);
  let free = 0;
  for (const at of order) {
    places[at] = Math.max(free, rows[at]);
    free = places[at] + least;
  }
  let over = Math.max(0, free - least - (count - 1));
  for (const at of order.reverse()) {
    if (!over) break;
    places[at] -= over;
    const below = order[order.indexOf(at) + 1];
    over = below === undefined ? 0 : Math.max(0, places[below] + least - places[at]);
  }
  return places;
}
