/** Names a pass for readers, counted from 1 in each round. Logs and addresses count from 0 across all rounds. Pure. */

import { integer } from "../shared/facts/format.js";
import { msg } from "../shared/words/msg.js";
import { placeOf } from "./measures.js";
import { roundName } from "./results.js";

/**
 * @param {import("./workload-log.js").Workload|null} log
 * @param {number} number of the pass in the log
 * @returns {{place: string, passes: string, name: string|null}} `name`: of the round, null if there is only one; "…" for a pass that the
 *   log does not have yet
 */
function passPlace(log, number) {
  const round = log?.roundOf(number);
  if (!round) return { place: "…", passes: "…", name: null };
  const name = log.rounds.length > 1 ? roundName(log.study, round.number) : null;
  return { place: integer(placeOf(round, { number })), passes: integer(round.passes.length), name };
}

/** @returns {string} "5", "5 in round “on”" */
export function passNumber(log, number) {
  const { place, name } = passPlace(log, number);
  return name === null ? place : msg`${place} in round “${name}”`;
}

/** @returns {string} "Pass 5", "Pass 5 in round “on”" */
export function passLabel(log, number) {
  const { place, name } = passPlace(log, number);
  return name === null ? msg`Pass ${place}` : msg`Pass ${place} in round “${name}”`;
}

/** @returns {string} "Pass 5 of 12", "Pass 5 of 12 in round “on”" */
export function passOfAllLabel(log, number) {
  const { place, passes, name } = passPlace(log, number);
  return name === null ? msg`Pass ${place} of ${passes}` : msg`Pass ${place} of ${passes} in round “${name}”`;
}
