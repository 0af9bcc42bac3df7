/**
 * Which token is looked up: one pressed in the table, or one that matches the typed word. For tokens in the log the
 * answer is immediate; all others are requested from the model.
 */

import { useMemo, useState } from "preact/hooks";
import { useModelValues } from "../../state/use-model-values.js";
import { namedTokens, tokensLike } from "./token-names.js";

/**
 * @returns {{text: string, lookup: {token: Object, rank: number, logit?: number, whole?: boolean}|null,
 *   search: {status: string, problem: Error|null, choices: Object[]}, onText: Function, onLookUp: Function, onPress: Function}}
 */
export function useLookup(state, client) {
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
  const lookup = text.trim() ? typed : pressed && { token: pressed, rank: rankOf(pressed) };
  return {
    text,
    lookup,
    search: { status, problem, choices },
    onText(value) {
      setText(value);
      setPressed(null);
    },
    onLookUp: ({ token }) => setPressed(token),
    onPress(token) {
      setText("");
      setPressed(token);
    },
  };
}

/**
 * Asks the model how a step rates the tokens that match a typed word.
 *
 * @param {{run: Object, step: number, readiness: Object}} state
 * @param {Object} client
 * @param {string} text as typed
 * @returns {{status: string, candidates: Object[], problem: Error|null}} whole words first, then by likelihood;
 *   `status` and `problem` as `useModelValues` gives them
 */
function useCandidates({ run, step, readiness }, client, text) {
  const word = text.trim();
  const { id } = run;
  const request = useMemo(() => (word ? { run: id, step, text: word } : null), [id, step, word]);
  const { status, values, problem } = useModelValues(
    { run, readiness },
    client.ask("candidates"),
    request,
    "candidates",
  );
  return { status, candidates: values?.candidates ?? [], problem };
}
