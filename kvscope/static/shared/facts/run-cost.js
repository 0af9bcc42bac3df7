/** What a run will store and how long it will take, estimated before it starts. Pure. */

/** Bytes of a `step` frame and of the other numbers of a step: 7 kB, measured on a run of 512 + 512 tokens of SmolLM2-135M. */
const STEP_BYTES = 7_000;

/**
 * @param {{layers: number, heads: number}} model of an `open` frame
 * @param {{row_ms: number|null, step_ms: number|null}} pace of `POST /api/tokens`: what the machine has measured
 * @param {number} prompt tokens of the prompt
 * @param {number} added new tokens
 * @returns {{bytes: number, seconds: number|null}} bytes of the log, a byte for each attention weight, and seconds; null without
 *   measurements
 */
export function runCost({ layers, heads }, { row_ms: rowMs, step_ms: stepMs }, prompt, added) {
  const positions = prompt + added;
  const bytes = (layers * heads * positions * positions) / 2 + added * STEP_BYTES;
  const measured = rowMs !== null && stepMs !== null;
  return { bytes, seconds: measured ? (prompt * rowMs + (added - 1) * stepMs) / 1000 : null };
}
