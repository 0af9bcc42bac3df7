/** How a step rates the tokens that a typed word begins with, asked of the model once the typing has settled. */

import { useMemo } from "preact/hooks";
import { useExact } from "../use-exact.js";

/** As many characters as the server takes for a word. */
export const MOST_CHARS = 64;

/**
 * @param {Object} client
 * @param {string} run
 * @param {number} step
 * @param {string} text as typed
 * @returns {{status: string, candidates: Object[], problem: Error|null}} whole words first, the likelier in front
 */
export function useCandidates(client, run, step, text) {
  const word = text.trim();
  const wanted = useMemo(() => (word ? { run, step, text: word } : null), [run, step, word]);
  const { status, values, problem } = useExact(client.candidates, wanted);
  return { status, candidates: values?.candidates ?? [], problem };
}
