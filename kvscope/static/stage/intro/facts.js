/** The numbers of the intro, from the run alone. Pure. */

import { disturbance } from "../../shared/facts/conditions.js";
import { integer, percent, quoted } from "../../shared/facts/format.js";
import { stepRows } from "../../shared/facts/step-rows.js";
import { msg } from "../../shared/words/msg.js";
import { distribution } from "../next-token/sampling.js";

const CANDIDATES = 3;
/** The intro explains the first token's share only where the mean is at least this. */
const LEAST_FIRST = 0.3;

/**
 * @returns {{token: Object, share: number|null, chosen: boolean}[]} the most probable after prefill, and the chosen
 *   one; its share is null if it is not among the logits of the log
 */
export function candidatesOf(run) {
  const step = run.steps[0];
  const { final } = distribution(
    { topLogits: step.topLogits, tailCounts: step.tailCounts, tail: step.data.tail },
    run.sampling,
  );
  const { token, top_tokens: top } = step.data;
  const rows = top.slice(0, CANDIDATES).map((each, rank) => ({ token: each, share: final[rank] }));
  const rank = step.topIds.indexOf(token.id);
  if (rank < 0 || rank >= CANDIDATES) rows[CANDIDATES - 1] = { token, share: rank < 0 ? null : final[rank] };
  return rows.map((row) => ({ ...row, chosen: row.token.id === token.id }));
}

/** @returns {string} how many other tokens there are, and their probability together */
export function othersInWords(run, candidates) {
  const share = percent(Math.max(0, 1 - candidates.reduce((sum, each) => sum + (each.share ?? 0), 0)), 0);
  const others = integer(run.open.model.vocab - candidates.length);
  return msg`${others} other tokens share the other ${share}`;
}

/** @returns {{token: Object|null, share: number, count: number}[]} a head's weights: the three largest, then, without a token, all others together */
export function mixOf(run, { layer, head, query }) {
  const all = Array.from({ length: query + 1 }, (_, key) => ({
    token: run.tokens[key],
    share: run.weight(layer, head, query, key) ?? 0,
    count: 1,
  }));
  all.sort((a, b) => b.share - a.share);
  const shown = all.slice(0, CANDIDATES);
  if (all.length === shown.length) return shown;
  const share = Math.max(0, 1 - shown.reduce((sum, each) => sum + each.share, 0));
  return [...shown, { token: null, share, count: all.length - shown.length }];
}

/** @returns {number[]} weight on each key of one row, the mean over the heads of a layer */
export function meanWeights(run, layer, query) {
  const sums = new Float64Array(query + 1);
  for (let head = 0; head < run.heads; head++)
    for (let key = 0; key <= query; key++) sums[key] += run.weight(layer, head, query, key) ?? 0;
  return Array.from(sums, (sum) => sum / run.heads);
}

/** @returns {number|null} the weight on the first token in the first row of decode, the mean of all heads; null below `LEAST_FIRST` */
export function firstTokensShare(run) {
  let sum = 0;
  for (let layer = 0; layer < run.layers; layer++) sum += meanWeights(run, layer, run.promptLength)[0];
  const mean = sum / run.layers;
  return mean >= LEAST_FIRST ? mean : null;
}

/** @returns {{perToken: number, positions: number, used: number}} bytes that K and V take after the second step of decode */
export function memoryOf({ steps }) {
  const { bytes_written: perToken, bytes_used: used, positions } = steps[2].data.kv;
  return { perToken, positions, used };
}

/** @returns {{rows: number, ms: number, disturbed: boolean}[]} rows that each step computed, and its measured time */
export function timesOf(run) {
  return run.steps.map(({ data }, step) => ({
    rows: stepRows(run, step).computed,
    ms: data.ms.total,
    disturbed: disturbance(data) !== null,
  }));
}

/** @returns {{with: Object[], without: Object[]}} rows of each step, for `drawStairs` */
export function stairsOf(run) {
  const lines = run.steps.map((_, step) => {
    const { first: cached, computed: fresh } = stepRows(run, step);
    return { cached, fresh };
  });
  return {
    with: lines.map(({ cached, fresh }) => ({ reused: cached, again: 0, fresh, done: true })),
    without: lines.map(({ cached, fresh }) => ({ reused: 0, again: cached, fresh, done: true })),
  };
}

/**
 * Returns the links at the end of the intro.
 *
 * @returns {{question: string, answer: string, step: number, selection: Object}[]}
 */
export function waysOn({ run, look }) {
  const chosen = quoted(run.tokens[run.promptLength]);
  const ways = [
    {
      question: msg`Why this token?`,
      answer: msg`The tokens that were likely instead of ${chosen}.`,
      step: 0,
      selection: { view: "tokens" },
    },
    {
      question: msg`Why a cache?`,
      answer: msg`What the cache holds, byte by byte, and what it saves.`,
      step: run.steps.length - 1,
      selection: { view: "cache" },
    },
  ];
  if (look) {
    const [token, other] = [look.query, look.key].map((position) => quoted(run.tokens[position]));
    ways.splice(1, 0, {
      question: msg`What does it look at?`,
      answer: msg`${token} and ${other}, and every other pair of tokens in every head.`,
      step: run.stepOfQuery(look.query),
      selection: { view: "head", ...look },
    });
  }
  return ways;
}
