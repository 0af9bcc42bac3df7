/** Runs a prompt, so that the server measures the speed of prefill, and deletes the run. */

// Not language: a prompt of the model.
const SENTENCE = "The quick brown fox jumps over the lazy dog. ";
const SENTENCES = 20;
const POLL_MS = 300;

/**
 * @param {Object} client
 * @param {(ms: number) => Promise<void>} delay
 * @returns {Promise<void>}  @throws {import("../../shared/log/problem.js").Problem}
 */
export async function measurePrefill(client, delay) {
  // Without reuse, the engine computes every row of the prompt.
  const prompt = SENTENCE.repeat(SENTENCES).trim();
  const { id } = await client.start({ prompt, max_new_tokens: 1, reuse: false });
  while ((await client.status(id)).status !== "closed") await delay(POLL_MS);
  await client.remove(id);
}
