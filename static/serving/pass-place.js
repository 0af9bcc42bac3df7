/** Which pass it is for a reader: counted from 1 in each round. Logs and addresses count from 0 through all rounds. Pure. */

import { integer } from "../shared/facts/format.js";
import { roundName } from "./experiments.js";
import { placeOf } from "./measures.js";

/**
 * @param {import("../shared/log/workload.js").Workload|null} log
 * @param {number} number of the pass in the log
 * @returns {{place: string, passes: string, where: string}} `where`: " in round “on”" where there are several rounds; a pass that is not
 *   there yet is at "…"
 */
export function passPlace(log, number) {
  const round = log?.roundOf(number);
  if (!round) return { place: "…", passes: "…", where: "" };
  const where = log.rounds.length > 1 ? ` in round “${roundName(log.study.rounds, round.number)}”` : "";
  return { place: integer(placeOf(round, { number })), passes: integer(round.passes.length), where };
}

/** @returns {string} "5", "5 in round “on”" */
export function passCount(log, number) {
  const { place, where } = passPlace(log, number);
  return `${place}${where}`;
}
