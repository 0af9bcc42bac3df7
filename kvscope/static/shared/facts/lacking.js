/**
 * What a log lacks, and which parts of the page need it. Only logs of runs that another program computed lack anything
 * (docs/frames.md, Runs computed elsewhere). Pure.
 *
 * @typedef {"cache"|"blocks"|"times"|"costs"|"engine"|"structure"|"scores"|"lens"} Need
 */

import { msg } from "../words/msg.js";

/** @type {Record<Need, (run: import("../log/run.js").Run) => boolean>} whether a log has it */
const HAS = {
  cache: ({ open, steps }) => open.model.kv_heads !== undefined && steps.every(({ data }) => data.kv),
  blocks: ({ open, steps }) => open.block_size !== undefined && steps.every(({ data }) => data.kv),
  times: ({ steps }) => steps.every(({ data }) => data.ms),
  costs: ({ steps }) => steps.every(({ data }) => data.ms && data.flops !== undefined),
  engine: ({ open }) => open.model.computed_by === undefined,
  structure: ({ open: { model } }) => model.norm !== undefined && model.d_mlp !== undefined,
  scores: ({ open, saved }) => open.model.computed_by === undefined || saved?.values?.level === "qkv",
  // Only the values of the last layer show whether they have it, so this is asked when they do not.
  lens: ({ open }) => open.model.computed_by === undefined,
};

/** @type {Record<Need, (by: string) => string>} */
const SAYS = {
  cache: (by) => msg`K and V are not in this log: ${by} computed the run and did not return them.`,
  blocks: (by) => msg`This log has no blocks: ${by} computed the run, and only KVScope’s own cache has blocks.`,
  times: (by) => msg`This log has no times: ${by} computed the run, and its steps were not measured.`,
  costs: (by) => msg`This log does not say how much each step computed and read: ${by} computed the run.`,
  engine: (by) => msg`This needs KVScope’s own computation of the model, and ${by} computed the run.`,
  scores: (by) => msg`Scores need q, k and v, and ${by}, which computed the run, did not return them all.`,
  lens: (by) => msg`Best guesses after each layer are not in this log: ${by} computed the run and did not return them.`,
  structure: (by) => msg`This log does not say what is inside a layer: ${by} computed the run.`,
};

/** Needs of the views and cards, by name. A part of a view that needs more names it where it is put together. */
export const NEEDS = {
  block: ["structure"],
  cache: ["cache"],
  time: ["times"],
  effects: ["engine"],
};

/**
 * @param {import("../log/run.js").Run|null} run
 * @param {string[]} [needs]
 * @returns {string|null} a sentence about the first need that the log does not meet; null if it meets all of them
 */
export function lacking(run, needs = []) {
  const need = run?.open && needs.find((each) => !HAS[each](run));
  return need ? SAYS[need](run.open.model.computed_by) : null;
}
