/**
 * Rows that the generation loop puts through the model for K new tokens after a prompt of N. Pure.
 *
 * Step 0 is prefill: it computes the N rows of the prompt and chooses the first new token. Step t > 0 feeds the token of step t − 1.
 * The last token is chosen and never fed.
 */

/** Returns the rows with a KV cache: N rows, then one row in each of the K − 1 later steps. */
const rowsWith = (prompt, added) => prompt + added - 1;

/** Returns the rows without a cache: N + t rows in step t, thus N·K + K(K − 1)/2. */
const rowsWithout = (prompt, added) => prompt * added + (added * (added - 1)) / 2;

/** @returns {{with: number, without: number, again: number, ratio: number}} */
export function loopOf(prompt, added) {
  const [cached, without] = [rowsWith(prompt, added), rowsWithout(prompt, added)];
  return { with: cached, without, again: without - cached, ratio: without / cached };
}

/** @returns {{step: number, with: number, without: number}[]} the first steps and the last one */
export function someSteps(prompt, added, first = 4) {
  const steps = Array.from({ length: Math.min(first, added) }, (_, step) => step);
  if (added > first) steps.push(added - 1);
  return steps.map((step) => ({ step, with: step === 0 ? prompt : 1, without: prompt + step }));
}
