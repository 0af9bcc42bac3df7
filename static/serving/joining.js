/** Why somebody waits, and why somebody shares nothing: from what the log says of the passes, no guesses. Pure. */

import { counted, integer } from "../shared/facts/format.js";
import { runningOf } from "./measures.js";
import { letterOf } from "./owners.js";

/**
 * @param {Object|undefined} event `waits` of a request, which older logs lack
 * @param {import("../shared/log/workload.js").Settings} settings of the round
 * @param {Object} pass the one that the request did not join
 * @returns {string} the reason, after a colon; "" where nothing in the log tells it
 */
export function whyWaits(event, settings, pass) {
  const why = event?.why ?? whyByRule(settings, pass);
  const answered = counted(event?.count ?? pass.members.length, "person is", "people are");
  if (why === "static") return ": nobody joins until all who are being answered are done";
  if (why === "places") return `: ${answered} being answered already, the most at once`;
  if (why === "order") return `: ${letterOf(event.other)} stands before it and waits too`;
  if (why === "blocks")
    return `: ${counted(event.count, "more block is", "more blocks are")} needed to read its prompt and what else is being read, and ${integer(event.free)} of ${integer(settings.blocks)} are free`;
  return "";
}

/** A log without reasons has those that follow from the settings. */
function whyByRule({ batching, at_once }, { members }) {
  if (batching === "static") return "static";
  return members.length >= at_once ? "places" : null;
}

/**
 * @param {import("../shared/log/workload.js").Round} round
 * @param {number} number of the pass that a request joined with nothing shared
 * @param {number} request
 * @returns {string} why not
 */
export function whyNothingShared({ passes, settings }, number, request) {
  if (!settings.sharing) return "sharing is off in this round";
  const at = number - passes[0].number;
  const others = (passes[at - 1]?.requests ?? []).filter((state, who) => who !== request && state.positions > 0);
  const evicted = passes[at].events.filter(({ what }) => what === "evicted").map(({ request: who }) => who);
  const holders = others.filter(({ table }) => table.length > 0);
  if (!holders.length) return "nobody’s beginning was in the pool yet";
  if (holders.every(({ dropped = 0 }) => dropped > 0))
    return "those in the pool have dropped rows, and what has gaps is not shared";
  if (evicted.length >= holders.length) return "what was kept in the pool had to make room for it";
  return "its first token is another than theirs";
}

/**
 * @param {import("../shared/log/workload.js").Round} round
 * @param {Object} pass after which no block stands in the tables of two who are being answered
 * @param {import("./measures.js").Answer[]} answers
 * @param {number} blockSize
 * @returns {string|null} why; null where nobody could share
 */
export function whyNoBlockShared({ settings }, pass, answers, blockSize) {
  const running = runningOf(pass);
  if (!settings.sharing) return "sharing is off in this round.";
  if (running.length < 2) return null;
  if (running.some(({ dropped = 0 }) => dropped > 0)) return "rows were dropped, and what has gaps is not shared.";
  const most = Math.max(...running.map(({ request }) => answers[request].shared));
  if (most === 0) return "when each of them joined, nobody who was in the pool had the same beginning.";
  if (most < blockSize)
    return `the same beginning is ${counted(most, "token")} long, less than a block of ${blockSize}.`;
  return "whose beginning they share is not being answered any more.";
}
