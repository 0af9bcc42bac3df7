/** Tasks of a lesson that a static site cannot let its readers do. Pure. */

import { msg } from "../../shared/words/msg.js";

/** What a task asks for that starts a run, or an experiment that only a server computes. */
const RUNS = ["prompt", "run", "branched_at", "without_cache"];
const EXPERIMENTS = ["cache_cleared", "beam_search", "experiment"];

/**
 * @param {Object} check of the task
 * @param {boolean} engine whether the site has a model
 * @returns {string|null} why the task cannot be done here
 */
export function whyNot(check, engine) {
  const asks = (names) => names.some((name) => name in check);
  if (asks(EXPERIMENTS)) return msg`This task needs a KVScope server: this site cannot compute the experiment.`;
  if (asks(RUNS) && !engine) return msg`This task needs a KVScope server: this site has no model to run.`;
  return null;
}
