/** Where a run can be branched, and which cache blocks a branch shares with its parent. Pure. */

import { msg } from "../words/msg.js";
import { lacking } from "./lacking.js";
import { NO_BRANCH } from "./saved-session.js";
import { firstOwnStep } from "./step-rows.js";

/** @returns {Object[]} the runs of a family that are branches: without a `study`, such as a run without a cache */
export function runsInTree({ runs }) {
  return runs.filter(({ study }) => !study);
}

/** @returns {Object} a token in the form of a log, from a family’s list, which has only its id and text */
export function listedToken({ id, text }) {
  const bytes = [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return { id, text, bytes, special: false };
}

/** @returns {number} the position of the token that `step` chose */
export function chosenPosition(run, step) {
  return run.promptLength + step;
}

/**
 * Says why no branch can start with this token. The engine refuses it for the same reason (docs/frames.md, `limits`, `eos`).
 *
 * @param {import("../log/run.js").Run} run
 * @param {number} step the step whose choice the token would replace
 * @param {{id: number}} token
 * @returns {string|null} a sentence; null when it can be started
 */
export function branchRefusal(run, step, token) {
  const { model, limits, study } = run.open;
  const lacks = lacking(run, ["engine"]);
  if (lacks) return lacks;
  if (run.saved) return NO_BRANCH;
  if (study) return msg`This run was computed for comparison with another run. Branch that run instead.`;
  if (run.steps[step].data.token.id === token.id) return msg`The run already chose this token.`;
  if (model.eos.includes(token.id)) return msg`This token ends the text: nothing can follow it.`;
  if (step + 1 >= limits.max_new_tokens) {
    const limit = limits.max_new_tokens;
    return msg`This is the last of the ${limit} new tokens that the run may have. Branch at an earlier step.`;
  }
  return null;
}

/** @returns {boolean} whether a run broke off with its engine, so that another engine can continue it from its log */
export function canContinue(run) {
  if (run.close?.reason !== "interrupted" || !run.steps.length) return false;
  const last = run.steps.length - 1;
  return branchRefusal(run, last, { id: -1 }) === null && !run.open.model.eos.includes(run.steps[last].data.token.id);
}

/** @returns {boolean} whether a branch continues its parent with the parent's own token */
export function continues(run) {
  const step = branchStep(run);
  return step !== null && Boolean(run.steps[step]) && !run.steps[step].data.token.forced;
}

/** @returns {number|null} the step whose token was set by the branch instead of the model; null in a run that is not a branch */
export function branchStep(run) {
  return run.open?.parent ? firstOwnStep(run) - 1 : null;
}

/**
 * Counts the cache blocks that a branch shared with its parent at its first own step. A block is shared if the parent's has the same
 * id and the allocator reports that more than one sequence holds it.
 *
 * @param {import("../log/run.js").Run} run
 * @returns {null|{shared: number, elsewhere: number, blocks: number, positions: number, whole: number, blockSize: number}}
 *   `elsewhere`: also held by others, but not blocks of the parent; `positions`: cached before the branch;
 *   `whole`: full blocks among them, the only ones that can stay shared; null until that step exists
 */
export function sharedBlocks(run) {
  const step = branchStep(run);
  if (step === null || !run.steps[step + 1]) return null;
  const before = run.steps[step].data.kv.block_table;
  const { block_table: table, refcounts } = run.steps[step + 1].data.kv;
  const isShared = table.map((_, i) => refcounts[i] > 1);
  const { position, recomputed } = run.open.parent;
  // On another engine, a block may have the number of one of the parent's by chance.
  const isParents = (i) => recomputed.held && table[i] === before[i];
  const blockSize = run.open.block_size;
  return {
    shared: isShared.filter((is, i) => is && isParents(i)).length,
    elsewhere: isShared.filter((is, i) => is && !isParents(i)).length,
    blocks: table.length,
    positions: position,
    whole: Math.floor(position / blockSize),
    blockSize,
  };
}
