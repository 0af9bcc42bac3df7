/**
 * Which token is looked up: one pressed in the table, or one that matches the typed word. For tokens in the log the
 * answer is immediate; all others are requested from the model.
 */

import { useMemo, useState } from "preact/hooks";
import { namedTokens, tokensLike } from "./token-names.js";
import { useCandidates } from "./use-candidates.js";

/**
 * @returns {{text: string, asked: {token: Object, rank: number, logit?: number, whole?: boolean}|null,
 *   found: {status: string, problem: Error|null, choices: Object[]}, onText: Function, onAsk: Function, onPress: Function}}
 */
export function useAsked(state, client) {
  const { run, step } = state;
  const [text, setText] = useState("");
  const [pressed, setPressed] = useState(null);
  const { topIds } = run.steps[step];
  const named = useMemo(() => namedTokens(run), [run, run.steps.length]);
  const { status, candidates, problem } = useCandidates(state, client, text);
  const rankOf = (token) => topIds.indexOf(token.id);
  const local = tokensLike(named.values(), text, rankOf).filter((token) => rankOf(token) >= 0);
  const rated = candidates.map(({ logit, rank, whole, ...token }) => ({ token, logit, rank, whole }));
  const words = rated.filter(({ whole }) => whole);
  const choices = rated.length
    ? words.length
      ? words
      : rated
    : local.map((token) => ({ token, rank: rankOf(token) }));
  const typed = choices.find(({ token }) => token.id === pressed?.id) ?? choices[0] ?? null;
  const asked = text.trim() ? typed : pressed && { token: pressed, rank: rankOf(pressed) };
  return {
    text,
    asked,
    found: { status, problem, choices },
    onText(value) {
      setText(value);
      setPressed(null);
    },
    onAsk: ({ token }) => setPressed(token),
    onPress(token) {
      setText("");
      setPressed(token);
    },
  };
}
