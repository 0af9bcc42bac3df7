/** Where a run can be branched, and what a branch has in common with the run it left. Pure. */

import { NO_BRANCH } from "./saved-session.js";

/** @returns {number} the position at which the token that `step` chose stands */
export function chosenPosition(run, step) {
  return run.promptLength + step;
}

/**
 * Why no branch can be started with this token, as the engine would refuse it (docs/frames.md, `limits`, `eos`).
 *
 * @param {import("../log/run.js").Run} run
 * @param {number} step the step whose choice the token would replace
 * @param {{id: number}} token
 * @returns {string|null} a sentence; null when it can be started
 */
export function branchRefusal(run, step, token) {
  const { model, limits, study } = run.open;
  if (run.saved) return NO_BRANCH;
  if (study) return "This run was made to learn about another one: branch that one.";
  if (run.steps[step].data.token.id === token.id) return "The run took this token itself.";
  if (model.eos.includes(token.id)) return "This token ends the text: nothing could follow it.";
  if (step + 1 >= limits.max_new_tokens) {
    return `This is the last of the ${limits.max_new_tokens} new tokens the run may have: nothing could follow. Branch at an earlier step.`;
  }
  return null;
}

/** @returns {number|null} the step whose token was given by the branch instead of chosen; null in a run that is no branch */
export function branchStep(run) {
  const parent = run.open?.parent;
  return parent ? parent.position - run.promptLength : null;
}

/**
 * The cache blocks a branch had in common with its parent when it made its first step of its own. A block counts when
 * it is the parent's by its id and the allocator says that more than one sequence holds it.
 *
 * @param {import("../log/run.js").Run} run
 * @returns {null|{shared: number, elsewhere: number, blocks: number, positions: number, whole: number, blockSize: number}}
 *   `elsewhere`: held by others too, but not the blocks the parent had; `positions`: cached before the branch;
 *   `whole`: full blocks among them, the only ones that can stay shared; null while that step is not there
 */
export function sharedBlocks(run) {
  const step = branchStep(run);
  if (step === null || !run.steps[step + 1]) return null;
  const before = run.steps[step].data.kv.block_table;
  const { block_table: table, refcounts } = run.steps[step + 1].data.kv;
  const held = table.map((_, i) => refcounts[i] > 1);
  const { position } = run.open.parent;
  const blockSize = run.open.block_size;
  return {
    shared: held.filter((is, i) => is && table[i] === before[i]).length,
    elsewhere: held.filter((is, i) => is && table[i] !== before[i]).length,
    blocks: table.length,
    positions: position,
    whole: Math.floor(position / blockSize),
    blockSize,
  };
}
