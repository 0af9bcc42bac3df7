/** What the intro says, from the run alone. Pure. */

import { counted, integer, percent, quoted } from "../facts/format.js";
import { rowsComputed, rowsWithoutCache } from "../facts/twins.js";
import { distribution } from "../next-token/sampling.js";

const CANDIDATES = 3;

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

/** @returns {number[]} weight on each key of one row, the mean over the heads of a layer */
export function meanWeights(run, layer, query) {
  const sums = new Float64Array(query + 1);
  for (let head = 0; head < run.heads; head++)
    for (let key = 0; key <= query; key++) sums[key] += run.weight(layer, head, query, key) ?? 0;
  return Array.from(sums, (sum) => sum / run.heads);
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

/** @returns {{title: string, more: string}} what a moment says: a sentence, and a quieter one */
export function saidOf(moment, { run, look }) {
  return SAID[moment](run, look);
}

const SAID = {
  sentence: (run) => ({
    title: run?.open?.chat
      ? "A real language model is about to answer this."
      : "A real language model is about to finish this sentence.",
    more: "Watch what it does.",
  }),
  prefill: ({ promptLength, prefillRows, reused, layers }) => ({
    title: reused
      ? `${integer(reused)} of ${integer(promptLength)} tokens are in the cache since an earlier run; it computes ${integer(prefillRows)}: prefill.`
      : `It reads ${promptLength === 1 ? "the one token" : `all ${integer(promptLength)} tokens at once`}: prefill.`,
    more: `A token is a piece of text. Each becomes a column of numbers that rises through ${counted(layers, "layer")}.`,
  }),
  look: (run, look) => ({
    title: `Here ${quoted(run.tokens[look.query])} looks back at ${quoted(run.tokens[look.key])}.`,
    more: `${percent(run.weight(look.layer, look.head, look.query, look.key), 0)} of its attention, in one of ${integer(run.layers * run.heads)} heads: a token takes from earlier ones what it needs.`,
  }),
  choice: (run) => ({
    title: CHOICES[choiceOf(run)],
    more: `Only the last column, of ${quoted(run.tokens[run.promptLength - 1])}, is asked.`,
  }),
  cache: ({ tokens, promptLength }) => ({
    title: `Of each token it keeps a key and a value: the KV cache. Now only ${quoted(tokens[promptLength])} is computed: decode.`,
    more: "Two vectors per layer and KV head: all that later tokens ask the earlier ones for. The columns are gone.",
  }),
  without: (run) => {
    const rows = rowsWithoutCache(run);
    return {
      title: `Without the cache: ${counted(rows.without, "column")} instead of ${integer(rows.cached)}.`,
      more: `By formula: every token again in each of ${counted(run.steps.length, "step")}. A line is a step, a square one token’s column through all ${counted(run.layers, "layer")}.`,
    };
  },
};

const CHOICES = {
  greedy: "At the top: the likeliest next token.",
  sample: "At the top: one of the likely next tokens is drawn.",
  forced: "At the top: what was likely. This branch was given another token.",
};

function choiceOf({ steps, open }) {
  return steps[0].data.token.forced ? "forced" : open.sampling.strategy;
}

/** @returns {string} what the other tokens share, after the candidates shown */
export function othersInWords(run, candidates) {
  const rest = Math.max(0, 1 - candidates.reduce((sum, { share }) => sum + (share ?? 0), 0));
  const others = run.open.model.vocab - candidates.length;
  return `${integer(others)} other tokens share the other ${percent(rest, 0)}`;
}

/** Where the intro leads.
 * @returns {{question: string, says: string, step: number, selection: Object}[]} */
export function waysOn({ run, look }) {
  const chosen = run.tokens[run.promptLength];
  const ways = [
    {
      question: "Why this word?",
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
