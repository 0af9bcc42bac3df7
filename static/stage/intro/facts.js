/** The numbers that the intro shows, from the run alone. Pure. */

import { disturbance } from "../../shared/facts/conditions.js";
import { integer, percent, quoted } from "../../shared/facts/format.js";
import { rowsComputed } from "../../shared/facts/twins.js";
import { distribution } from "../next-token/sampling.js";

const CANDIDATES = 3;
/** Where the first token gets less than this on average, nothing is said of it. */
const LEAST_FIRST = 0.3;

/**
 * @returns {{token: Object, share: number|null, chosen: boolean}[]} the likeliest after prefill, and the one that was
 *   chosen; its share is null where it is not among the logits of the log
 */
export function candidatesOf(run) {
  const step = run.steps[0];
  const { open } = run;
  const { final } = distribution(
    { topLogits: step.topLogits, tailCounts: step.tailCounts, tail: step.data.tail },
    open.sampling,
  );
  const { token, top_tokens: top } = step.data;
  const rows = top.slice(0, CANDIDATES).map((each, rank) => ({ token: each, share: final[rank] }));
  const rank = step.topIds.indexOf(token.id);
  if (rank < 0 || rank >= CANDIDATES) rows[CANDIDATES - 1] = { token, share: rank < 0 ? null : final[rank] };
  return rows.map((row) => ({ ...row, chosen: row.token.id === token.id }));
}

/** @returns {string} what the other tokens share, after the candidates shown */
export function othersInWords(run, candidates) {
  const rest = Math.max(0, 1 - candidates.reduce((sum, { share }) => sum + (share ?? 0), 0));
  const others = run.open.model.vocab - candidates.length;
  return `${integer(others)} other tokens share the other ${percent(rest, 0)}`;
}

/** @returns {{token: Object|null, share: number, count: number}[]} what a head takes from which token: the three largest shares, then, without a token, all others */
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

/** @returns {number|null} what heads take from the first token in the first row of decode, the mean of all; null where that is not much */
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

/** @returns {{rows: number, ms: number, disturbed: boolean}[]} what each step computed and how long it took, as measured */
export function timesOf({ steps }) {
  return steps.map((step) => ({
    rows: rowsComputed(step),
    ms: step.data.ms.total,
    disturbed: disturbance(step.data) !== null,
  }));
}

/** @returns {{with: Object[], without: Object[]}} rows of each step as `drawStairs` takes them */
export function stairsOf(run) {
  const lines = run.steps.map((step) => {
    const fresh = rowsComputed(step);
    const all = step.firstQuery + step.rows;
    return { kept: all - fresh, fresh };
  });
  return {
    with: lines.map(({ kept, fresh }) => ({ reused: kept, again: 0, fresh, done: true })),
    without: lines.map(({ kept, fresh }) => ({ reused: 0, again: kept, fresh, done: true })),
  };
}

/** Where the intro leads.
 * @returns {{question: string, says: string, step: number, selection: Object}[]} */
export function waysOn({ run, look }) {
  const chosen = run.tokens[run.promptLength];
  const ways = [
    {
      question: "Why this token?",
      says: `Everything that was likely in place of ${quoted(chosen)}.`,
      step: 0,
      selection: { view: "tokens" },
    },
    {
      question: "Why a cache?",
      says: "What it keeps, byte by byte, and what that saves.",
      step: run.steps.length - 1,
      selection: { view: "cache" },
    },
  ];
  if (look) {
    ways.splice(1, 0, {
      question: "What does it look at?",
      says: `${quoted(run.tokens[look.query])} and ${quoted(run.tokens[look.key])}, and every other pair, in every head.`,
      step: run.stepOfQuery(look.query),
      selection: { view: "head", ...look },
    });
  }
  return ways;
}
