/** The tokens whose text is in a run's log: the run's tokens, and the 32 best candidates of every step. Pure. */

import { tokenText } from "../../../shared/facts/format.js";

/** @returns {Map<number, Object>} tokens by id */
export function namedTokens(run) {
  const named = new Map();
  for (const { data } of run.steps) for (const token of data.top_tokens) named.set(token.id, token);
  for (const token of run.tokens) named.set(token.id, token);
  return named;
}

/**
 * Returns the tokens with a text, whatever the space before it and its capitals: exact matches first, then by rank.
 *
 * @param {Iterable<Object>} tokens
 * @param {string} text as typed
 * @param {(token: Object) => number} rankOf the rank of a token in a step; −1 when not known
 */
export function tokensLike(tokens, text, rankOf) {
  const word = text.trim();
  if (!word) return [];
  const closeness = (token) => {
    const bare = token.text.trim() || tokenText(token);
    if (bare === word) return 0;
    return bare.toLowerCase() === word.toLowerCase() ? 1 : null;
  };
  const order = (token) => (rankOf(token) < 0 ? Infinity : rankOf(token));
  return [...tokens]
    .map((token) => ({ token, close: closeness(token) }))
    .filter(({ close }) => close !== null)
    .sort((a, b) => a.close - b.close || compare(order(a.token), order(b.token)))
    .map(({ token }) => token);
}

function compare(a, b) {
  return a === b ? 0 : a < b ? -1 : 1;
}
