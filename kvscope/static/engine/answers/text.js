/** The tokens that a question about a step is about. */

import { keyOf } from "../runs/changed.js";
import { among, within } from "./bounds.js";
import { editsOf } from "./edits.js";

/**
 * @param {import("./rows.js").Engine} engine
 * @param {import("../log/outline.js").Outline} log
 * @param {number} step
 * @param {number} [lowest] step that can be asked about
 * @returns {import("./rows.js").Text} the tokens before a step, computed with the run's changes
 * @throws {import("../refused.js").Refused}
 */
export function textBefore(engine, log, step, lowest = 0) {
  within("step", step, lowest, log.steps.length - 1);
  return { ids: log.ids.slice(0, log.prompt + step), key: keyOf(log), edits: editsOf(engine, log) };
}

/** @throws {import("../refused.js").Refused} unless the model has what the parameters name: a layer, a head */
export function inModel({ info }, parameters) {
  for (const [name, value] of Object.entries(parameters)) among(name, value, info[`${name}s`]);
}
