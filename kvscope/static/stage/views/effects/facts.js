/** What the effects of switching parts off say, beside where heads look. Pure. */

import { weightOf } from "../../../shared/log/companding.js";
import { signedShade as linearShade } from "../../draw/tiles.js";

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

/** @returns {number} 0…1: the square root of the divergence, as a share of the largest one */
export function depth(kl, largest) {
  return largest > 0 ? Math.sqrt(Math.max(0, kl) / largest) : 0;
}

/** @returns {number} 0…255: the shade of an effect in a theme's scale */
export const shadeOf = ({ kl }, largest) => Math.round(255 * depth(kl, largest));

/** @returns {number[]} the numbers of the parts, the largest effect first */
export function ranked(effects) {
  return effects.map((_, at) => at).sort((a, b) => effects[b].kl - effects[a].kl);
}

/** @returns {number} the median of the divergences */
export function medianKl(effects) {
  const sorted = effects.map(({ kl }) => kl).sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/**
 * Returns the total effect of a part by a measure: positive where replacing the part lowers the measure.
 *
 * @param {string} measure `kl`, `probability` or `difference`: KL divergence, never negative; ln of the token's probability; the token's logit less
 *   the foil's. The last two: as it was less as it became
 * @returns {number|null} null if the answer lacks the logits, as one that was stored by an earlier version does
 */
export function totalOf(measure, base, effect) {
  if (measure === "kl") return effect.kl;
  if (measure === "probability") return base.logprob - effect.logprob;
  const [before, after] = [differenceOf(base), differenceOf(effect)];
  return before === null || after === null ? null : before - after;
}

const differenceOf = ({ logit, foil }) => (foil ? logit - foil.logit : null);

/** @returns {number} the direct effect, of shares as the contract has them: on the token's logit, less the foil's or the mean of all */
export function directOf(measure, [token, foil, mean]) {
  return token - (measure === "difference" ? foil : mean);
}

/** Least change between two prompts, in nats or logits, of which a share is worth stating. */
const LEAST_CHANGE = 0.1;

/**
 * Returns how much of the change from this prompt to the other one a patch makes: 0 as here, 1 as there.
 *
 * @returns {number|null} null if the prompts hardly differ by this measure, or it has no sign
 */
export function shareOfChange(measure, base, other, effect) {
  if (measure === "kl" || !other) return null;
  const whole = totalOf(measure, base, other);
  return whole === null || Math.abs(whole) < LEAST_CHANGE ? null : (totalOf(measure, base, effect) ?? 0) / whole;
}

/** @returns {number[]} the numbers of the parts, the largest effect of either sign first */
export function byStrength(values) {
  return values.map((_, at) => at).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));
}

/** @returns {number} the largest effect, whatever its sign */
export const strongest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);

/** @returns {number} 0…255: the shade of an effect with a sign; 128 is none (√ scale) */
export function signedShade(value, largest) {
  return linearShade(Math.sign(value) * Math.sqrt(Math.abs(value)), Math.sqrt(largest));
}

/** @returns {string} the colour of an effect by a measure; a divergence has no sign, and the scale of where heads look */
export function colourOf(theme, measure, value, largest) {
  return measure === "kl"
    ? theme.attentionNow.css[shadeOf({ kl: value }, largest)]
    : theme.signed.css[signedShade(value, largest)];
}

/** @returns {number|null} Spearman's rank correlation, ties with their mean rank; null if all numbers of a list are equal */
export function spearman(a, b) {
  const [x, y] = [ranksOf(a), ranksOf(b)];
  const middle = (a.length - 1) / 2;
  let [both, own, others] = [0, 0, 0];
  for (let at = 0; at < a.length; at++) {
    both += (x[at] - middle) * (y[at] - middle);
    own += (x[at] - middle) ** 2;
    others += (y[at] - middle) ** 2;
  }
  return own && others ? both / Math.sqrt(own * others) : null;
}

function ranksOf(values) {
  const order = values.map((_, at) => at).sort((a, b) => values[a] - values[b]);
  const ranks = new Array(values.length);
  for (let from = 0; from < order.length; ) {
    let end = from + 1;
    while (end < order.length && values[order[end]] === values[order[from]]) end++;
    for (let at = from; at < end; at++) ranks[order[at]] = (from + end - 1) / 2;
    from = end;
  }
  return ranks;
}

/** How many of the strongest parts are compared. */
export const TOP = 5;

/** @returns {{rho: number|null, shared: number}} how far two lists of effects agree: by strength, whatever the sign, and of the `TOP` strongest how many both have */
export function agreement(a, b) {
  const top = new Set(byStrength(a).slice(0, TOP));
  const shared = byStrength(b)
    .slice(0, TOP)
    .filter((at) => top.has(at)).length;
  return { rho: spearman(a.map(Math.abs), b.map(Math.abs)), shared };
}

/** Shares of the largest effect that count as large and as small. */
export const LARGE = 0.25;
export const SMALL = 0.05;

/** @returns {"total-only"|"direct-only"|null} large in all and small directly, or the reverse; of the largest of each. KL grows as the square of a small change, so its root is compared */
export function standing(measure, total, direct, { totals, directs }) {
  const share = Math.abs(total) / (totals || 1);
  const [all, own] = [measure === "kl" ? Math.sqrt(share) : share, Math.abs(direct) / (directs || 1)];
  if (all >= LARGE && own <= SMALL) return "total-only";
  return own >= LARGE && all <= SMALL ? "direct-only" : null;
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
