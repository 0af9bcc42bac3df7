/** How a step rates the tokens that a typed word begins with, asked of the model once the typing has settled. */

import { useMemo } from "preact/hooks";
import { useModelValues } from "../../../shared/loading/use-model-values.js";

/**
 * @param {{run: Object, step: number, readiness: Object}} state
 * @param {Object} client
 * @param {string} text as typed
 * @returns {{status: string, candidates: Object[], problem: Error|null}} whole words first, the likelier in front;
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
