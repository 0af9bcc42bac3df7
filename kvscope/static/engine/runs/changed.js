/** What makes the rows of a changed run differ from others of the same tokens. Pure. */

/**
 * @typedef {Object} Changed a run, perhaps a changed one
 * @property {number[]} ids its tokens so far
 * @property {number} prompt how many are the prompt's
 * @property {boolean} [chat] whether prompts are in the chat template
 * @property {Object[]} changes of a changed run (docs/frames.md), else none
 */

/**
 * @param {Changed} run
 * @returns {string} equal for runs that share rows of the cache where their tokens are equal; empty without changes
 */
export function keyOf({ ids, prompt, chat, changes }) {
  return changes.length ? JSON.stringify([ids.slice(0, prompt), Boolean(chat), changes]) : "";
}
