/**
 * The stages from logits to the next token, and why a token was or was not chosen. Pure.
 *
 * Every stage is `distribution` with the filters up to that stage; what a filter cut is the difference between two stages.
 */

import { fixed, integer, percent, quoted } from "../../../shared/facts/format.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { distribution, sameSettings } from "../../next-token/sampling.js";

/**
 * Returns the stages from logits to the chosen token.
 *
 * @param {Object} shown a step of a run: {data, topIds, topLogits, tailCounts}
 * @param {Object} settings the sampling settings that are shown
 * @param {Object} used the settings of the run
 * @returns {{vocab: number, greedy: boolean, own: boolean, settings: Object, temperature: Object, topK: Object, topP: Object,
 *   cut: (null|"top-k"|"top-p")[], logits: Object, chosen: {rank: number, token: Object}, draw: Object|null}}
 *   `own`: `settings` are those of the run; `chosen.rank`: −1 past the listed tokens;
 *   `logits`: {listed, low, high, tail, tailCounts} of the whole vocabulary; `draw` as `drawOf` gives it
 */
export function tokenPath(shown, settings, used) {
  const { data, topIds, topLogits, tailCounts } = shown;
  const logits = { topLogits, tailCounts, tail: data.tail };
  const off = { ...settings, top_k: 0, top_p: 1 };
  const scaled = distribution(logits, off);
  const filtered = distribution(logits, { ...settings, top_p: 1 });
  const final = distribution(logits, settings);
  const vocab = topLogits.length + data.tail.count;
  const own = sameSettings(settings, used);
  const greedy = settings.strategy === "greedy";
  const exact = own && !greedy ? (data.filters ?? null) : null;
  const countTopK = exact?.kept_top_k ?? filtered.countTopK;
  const countTopP = exact?.kept_top_p ?? final.countTopP;
  const massTopK = exact?.mass_top_k ?? filtered.massTopK;
  const massTopP = exact?.mass_top_p ?? final.massTopP;
  const rank = topIds.indexOf(data.token.id);
  return {
    vocab,
    greedy,
    own,
    settings,
    logits: {
      listed: topLogits,
      low: data.tail.count ? data.tail.low : topLogits.at(-1),
      high: topLogits[0],
      tail: data.tail,
      tailCounts,
    },
    temperature: stageOf(scaled, vocab, vocab, 1),
    topK: { ...stageOf(filtered, countTopK, vocab, massTopK), approximate: filtered.approximate },
    topP: { ...stageOf(final, countTopP, countTopK, massTopP / massTopK), approximate: final.approximate && !exact },
    cut: Array.from(topLogits, (_, at) => (at < countTopP ? null : at < countTopK ? "top-p" : "top-k")),
    chosen: { rank, token: data.token },
    draw: drawOf(shown, used),
  };
}

/** A stage that keeps `count` of the `before` tokens that reach it, with a share `mass` of their probability. */
function stageOf({ final, entropy }, count, before, mass) {
  return { shares: final, entropy, count, cutCount: before - count, cutMass: Math.max(0, 1 - mass) };
}

/**
 * Counts the logits in equal parts of their range.
 *
 * @param {Object} logits of `tokenPath`
 * @param {number} bars equal parts of the range from the smallest logit to the largest
 * @returns {number[]} how many tokens of the vocabulary have a logit in each
 */
export function logitHistogram({ listed, low, high, tail, tailCounts }, bars) {
  const counts = new Array(bars).fill(0);
  const span = high - low || 1;
  const count = (logit, tokens) => {
    counts[Math.min(bars - 1, Math.max(0, Math.floor(((logit - low) / span) * bars)))] += tokens;
  };
  for (const logit of listed) count(logit, 1);
  const width = (tail.high - tail.low) / tailCounts.length;
  tailCounts.forEach((tokens, bin) => count(tail.low + (bin + 0.5) * width, tokens));
  return counts;
}

/**
 * Returns the range of the seed's random number. The log does not have the number, but the choice limits it: the token drawn is
 * the first whose running sum of filtered probabilities, largest first, is above it.
 *
 * @returns {{from: number, to: number}|null} 0…1; null when nothing was drawn (greedy, or the first token of a branch), if it is not known, or
 *   when the token drawn is past the listed tokens
 */
export function drawOf({ data, topIds, topLogits, tailCounts }, used) {
  const rank = topIds.indexOf(data.token.id);
  if (used.strategy === "greedy" || !data.filters || data.token.forced || rank < 0) return null;
  const { final } = distribution({ topLogits, tailCounts, tail: data.tail }, used);
  let from = 0;
  for (let before = 0; before < rank; before++) from += final[before];
  return { from, to: Math.min(1, from + final[rank]) };
}

/**
 * Returns which tokens the same random number could draw under other settings.
 *
 * @param {{from: number, to: number}} draw
 * @param {Float64Array} shares of the listed tokens under those settings
 * @returns {{first: number, last: number}} ranks; `last` may be `shares.length`: past the listed ones
 */
export function drawnBy({ from, to }, shares) {
  let sum = 0;
  let first = null;
  for (let rank = 0; rank < shares.length; rank++) {
    sum += shares[rank];
    if (first === null && sum > from + 1e-9) first = rank;
    if (sum >= to - 1e-9) return { first, last: rank };
  }
  return { first: first ?? shares.length, last: shares.length };
}

/**
 * Returns the rows of the table: the largest logits, the chosen token and the one looked up.
 *
 * @param {Object[]} named tokens of the first ranks
 * @param {(null|{rank: number, token: Object})[]} extra included in any case
 * @returns {{rank: number, token: Object}[]} by rank
 */
export function pathRows(named, count, extra) {
  const included = extra.filter((one) => one && one.rank >= 0);
  const rows = new Map(included.map(({ rank, token }) => [rank, token]));
  for (let rank = 0; rank < named.length && rows.size < count; rank++) {
    if (!rows.has(rank)) rows.set(rank, named[rank]);
  }
  return [...rows].map(([rank, token]) => ({ rank, token })).sort((a, b) => a.rank - b.rank);
}

/**
 * Says why a token was chosen, could have been, or could not be.
 *
 * @param {Object} path of `tokenPath`
 * @param {{token: Object, rank: number, logit?: number}} lookup `rank` −1: it is not listed, and its rank is not
 *   known; `logit`: the raw logit of a token past the listed ones
 * @returns {{verdict: string, possible: boolean, because: string}}
 */
export function whyToken(path, lookup) {
  const { chosen, own } = path;
  const name = quoted(lookup.token);
  const rating = ratingOf(path, lookup);
  const facts = rating ? ratedFacts(path, rating, name) : unratedFacts(path, name);
  const wasChosen = own && chosen.token.id === lookup.token.id;
  if (wasChosen && chosen.token.forced) {
    return { verdict: msg`${name} was set by this branch.`, possible: true, because: facts };
  }
  const { possible, because } = path.greedy ? greedyReason(path, rating) : sampledReason(path, rating, wasChosen);
  const verdict = wasChosen ? msg`${name} was chosen.` : verdictOn(name, possible, own);
  return { verdict, possible: possible !== false, because: `${facts} ${because}` };
}

function verdictOn(name, possible, own) {
  if (possible === null) return msg`The log does not show whether ${name} could be drawn.`;
  if (own) return possible ? msg`${name} could have been drawn.` : msg`${name} could not be chosen.`;
  return possible
    ? msg`With these settings, ${name} could be drawn.`
    : msg`With these settings, ${name} could not be chosen.`;
}

/** @returns {{rank: number, logit: number, probability: number, share: number}|null} `probability`: after temperature, `share`: after the filters */
function ratingOf({ logits, temperature, topP, settings, greedy }, lookup) {
  const { rank, logit: ofModel } = lookup;
  const logit = logits.listed[rank] ?? ofModel;
  if (rank < 0 || logit === undefined) return null;
  const ratio = Math.exp((logit - logits.listed[0]) / (greedy ? 1 : settings.temperature));
  const share = rank < topP.count ? topP.shares[0] * ratio : 0;
  return { rank, logit, probability: temperature.shares[0] * ratio, share };
}

function ratedFacts({ vocab, settings, greedy }, { rank, logit, probability: share }, name) {
  const order =
    rank === 0
      ? msg`${name} has the largest of ${integer(vocab)} logits: ${fixed(logit, 2)}.`
      : msg`${name} has logit ${fixed(logit, 2)}, number ${integer(rank + 1)} of ${integer(vocab)}.`;
  const probability = percent(share, share < 0.001 ? 4 : 1);
  const { temperature } = settings;
  const chance =
    greedy || temperature === 1
      ? msg`Its probability is ${probability}.`
      : msg`Its probability at temperature ${temperature} is ${probability}.`;
  return `${order} ${chance}`;
}

function unratedFacts({ logits, temperature, vocab }, name) {
  const { listed } = logits;
  const logit = fixed(listed.at(-1), 2);
  const probability = percent(temperature.shares[listed.length - 1], 3);
  return msg`${name} is not among the ${listed.length} largest of ${integer(vocab)} logits. Its logit is at most ${logit}, its probability at most ${probability}.`;
}

function greedyReason({ logits }, rating) {
  const possible = rating?.rank === 0;
  if (possible || !rating) return { possible, because: msg`Greedy always chooses the largest logit.` };
  const gap = fixed(logits.listed[0] - rating.logit, 2);
  return { possible: false, because: msg`Greedy always chooses the largest logit, here ${gap} higher.` };
}

function sampledReason({ settings, topK, topP, logits }, rating, wasChosen) {
  const { top_k: k, top_p: p } = settings;
  const rank = rating?.rank ?? logits.listed.length;
  if (rank >= topK.count) {
    const because = plural(
      k,
      form`top-k keeps only the ${integer(k)} largest logit and cuts this token.`,
      form`top-k keeps only the ${integer(k)} largest logits and cuts this token.`,
    );
    return { possible: false, because };
  }
  if (rank >= topP.count) {
    const rule = msg`top-p ${p} keeps the fewest tokens that together reach ${percent(p, 0)}.`;
    const mass = percent(1 - topP.cutMass);
    const because = plural(
      topP.count,
      form`The ${integer(topP.count)} largest token already reaches ${mass}, so this token is cut.`,
      form`The ${integer(topP.count)} largest tokens already reach ${mass}, so this token is cut.`,
    );
    return { possible: false, because: `${rule} ${because}` };
  }
  if (!rating) return { possible: null, because: msg`The filters keep tokens that the log does not list.` };
  const probability = percent(rating.share, rating.share < 0.001 ? 4 : 1);
  const passed = msg`It passes every filter and then has a probability of ${probability}.`;
  if (wasChosen) return { possible: true, because: `${passed} ${msg`The seed's random number selected it.`}` };
  const draws = integer(Math.round(1 / rating.share));
  const odds =
    rating.share > 0.5 ? msg`More than half of all draws select it.` : msg`About one draw in ${draws} selects it.`;
  return { possible: true, because: `${passed} ${odds}` };
}
