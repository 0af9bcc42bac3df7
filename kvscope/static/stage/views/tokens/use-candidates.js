/** How a step rates the tokens that match a typed word, requested from the model after a pause in typing. */

import { useMemo } from "preact/hooks";
import { useModelValues } from "../../state/use-model-values.js";

/**
 * @param {{run: Object, step: number, readiness: Object}} state
 * @param {Object} client
 * @param {string} text as typed
 * @returns {{status: string, candidates: Object[], problem: Error|null}} whole words first, then by likelihood;
 *   `status` and `problem` as `useModelValues` gives them
 */
export function useCandidates({ run, step, readiness }, client, text) {
  const word = text.trim();
  const { id } = run;
  const wanted = useMemo(() => (word ? { run: id, step, text: word } : null), [id, step, word]);
  const { status, values, problem } = useModelValues(
    { run, readiness },
    client.ask("candidates"),
    wanted,
    "candidates",
  );
  return { status, candidates: values?.candidates ?? [], problem };
}
