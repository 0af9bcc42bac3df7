/** The next-token distributions of two steps, one beside the other. Pure. */

import { keyOf, sameModel } from "./alignment.js";

/** Rows of bars. */
const SHOWN = 10;
/** Below this share of a distribution in the tokens that both logs list, no divergence is given. */
const ENOUGH = 0.9;

/** Probabilities of softmax of the raw logits, as the log lists them. */
function listedOf({ topIds, topLogits, data }) {
  return Array.from(topIds, (id, i) => ({ id, p: Math.exp(topLogits[i] - data.log_z) }));
}

/** @returns {{p: number|null, below: number}} `p` null: the log does not list the token; its probability is at most `below` */
const unlisted = (listed) => ({ p: null, below: listed.at(-1)?.p ?? 1 });

/**
 * Returns the likeliest tokens of either step, with their probability in both.
 *
 * @param {{run: Object, step: number}} sideA
 * @param {{run: Object, step: number}} sideB
 * @returns {{token: Object, a: {p: number|null, below?: number}, b: {p: number|null, below?: number}, chosenA: boolean, chosenB: boolean}[]}
 *   largest first
 */
export function likeliest(sideA, sideB, most = SHOWN) {
  const [a, b] = [sideA, sideB].map(({ run, step }) => run.steps[step]);
  const key = keyOf(sideA.run, sideB.run);
  const byId = sameModel(sideA.run, sideB.run);
  const names = (step) => step.data.top_tokens.map((token) => /** @type {[any, Object]} */ ([key(token), token]));
  const [listA, listB] = [a, b].map((step) => {
    const all = listedOf(step);
    // Another model has other ids, so only tokens with a text can be found in both.
    const known = byId ? all : all.slice(0, step.data.top_tokens.length);
    const keyAt = (i) => (byId ? all[i].id : key(step.data.top_tokens[i]));
    return { known, of: new Map(known.map(({ p }, i) => [keyAt(i), { p }])) };
  });
  const chosen = [a, b].map(({ data }) => key(data.token));
  const tokens = new Map([a, b].flatMap((step) => [[key(step.data.token), step.data.token], ...names(step)]));
  const rows = [...tokens].map(([id, token]) => ({
    token,
    a: listA.of.get(id) ?? unlisted(listA.known),
    b: listB.of.get(id) ?? unlisted(listB.known),
    chosenA: id === chosen[0],
    chosenB: id === chosen[1],
  }));
  const size = (row) => Math.max(row.a.p ?? 0, row.b.p ?? 0);
  const isChosen = (row) => Number(row.chosenA || row.chosenB);
  // Equal rows are in the order of their texts, so that exchanging the sides does not change it.
  const order = (x, y) => size(y) - size(x) || (x.token.bytes < y.token.bytes ? -1 : 1);
  const shown = new Set([...rows].sort((x, y) => isChosen(y) - isChosen(x) || order(x, y)).slice(0, most));
  return rows.filter((row) => shown.has(row)).sort(order);
}

/**
 * Returns the divergence of the distributions. A log lists 256 tokens, so the others count as one: joining outcomes never increases the
 * divergence (log sum inequality, Cover and Thomas 2006, theorem 2.7.1), and the result is a lower bound.
 *
 * @returns {{ab: number|null, ba: number|null, tokens: number, shareA: number, shareB: number}|null} Kullback-Leibler divergences from
 *   a to b and from b to a in nats, null if the listed tokens hold less than 90 % of either; `tokens`: listed by both, with their
 *   share of each distribution. null for different models, whose tokens differ
 */
export function divergence(sideA, sideB) {
  if (!sameModel(sideA.run, sideB.run)) return null;
  const [a, b] = [sideA, sideB].map(({ run, step }) => listedOf(run.steps[step]));
  const inB = new Map(b.map(({ id, p }) => [id, p]));
  const both = a.filter(({ id }) => inB.has(id)).map(({ id, p }) => [p, inB.get(id)]);
  const [shareA, shareB] = [0, 1].map((side) =>
    Math.min(
      1,
      both.reduce((sum, pair) => sum + pair[side], 0),
    ),
  );
  if (Math.min(shareA, shareB) < ENOUGH) return { ab: null, ba: null, tokens: both.length, shareA, shareB };
  const outcomes = [...both, [1 - shareA, 1 - shareB]];
  const from = (p, q) => (p > 0 && q > 0 ? p * Math.log(p / q) : 0);
  const ab = Math.max(
    0,
    outcomes.reduce((sum, [p, q]) => sum + from(p, q), 0),
  );
  const ba = Math.max(
    0,
    outcomes.reduce((sum, [p, q]) => sum + from(q, p), 0),
  );
  return { ab, ba, tokens: both.length, shareA, shareB };
}
