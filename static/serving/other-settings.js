/** How what is in sight was asked otherwise than the page's fields say now. Pure. */

import { counted } from "../shared/facts/format.js";
import { askedOf, typedIn } from "./asked.js";
import { SETTINGS } from "./settings.js";

/**
 * @param {import("./asked.js").Asked} asked as the fields stand
 * @param {import("../shared/log/workload.js").Workload} log
 * @param {import("../shared/log/workload.js").Round} round of it
 * @returns {string[]} what differs, as it is in the round: "4 people", "at most 1 at once"; whoever joined is no difference
 */
export function otherSettings(asked, { study, begunWith }, { settings }) {
  const requests = study.requests.slice(0, begunWith);
  const was = askedOf({ ...study, requests, rounds: [settings] }, asked);
  const differs = (field) => typedIn(was, field).trim() !== typedIn(asked, field).trim();
  const told = [];
  if (differs("people")) told.push(counted(requests.length, "person", "people"));
  if (othersIn(was, asked, "arrives")) told.push(arriving(requests));
  if (othersIn(was, asked, "prompt")) told.push("other prompts");
  if (was.sameSystem !== asked.sameSystem) told.push(was.sameSystem ? "a system prompt" : "no system prompt");
  else if (was.sameSystem && was.system !== asked.system) told.push("another system prompt");
  if (othersIn(was, asked, "newTokens")) told.push(lengths(requests));
  if (othersIn(was, asked, "cancel") || othersIn(was, asked, "retry")) told.push(givingUp(requests));
  for (const { field, said } of SETTINGS) if (differs(field)) told.push(said(typedIn(was, field)));
  return told;
}

/** Of the requests that there are in both: how many there are is told for itself. */
function othersIn(was, asked, name) {
  const both = Math.min(was.requests.length, asked.requests.length);
  return asked.requests.slice(0, both).some((request, at) => request[name].trim() !== was.requests[at][name].trim());
}

function arriving(requests) {
  return requests.every(({ arrives_ms }) => arrives_ms === 0) ? "all at the same moment" : "at other times";
}

function lengths(requests) {
  const [{ max_new_tokens: first }] = requests;
  return requests.every(({ max_new_tokens }) => max_new_tokens === first)
    ? `up to ${counted(first, "new token")} each`
    : "answers of other lengths";
}

function givingUp(requests) {
  return requests.some(({ cancel_ms }) => cancel_ms !== null) ? "others give up" : "nobody gives up";
}
