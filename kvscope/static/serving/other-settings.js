/** How the settings of the shown workload differ from the form. Pure. */

import { requestCount, tokenCount } from "../shared/words/counts.js";
import { form, msg, plural } from "../shared/words/msg.js";
import { draftText } from "./drafts.js";
import { draftNumbers, SETTINGS } from "./settings.js";
import { fieldsOf, typedIn } from "./workload-form.js";

/**
 * @param {import("./workload-form.js").Fields} fields the form as it is now
 * @param {import("./workload-log.js").Workload} log
 * @param {import("./workload-log.js").Round} round of it
 * @returns {string[]} what differs, as it is in the round: "4 requests", "at most 1 at once"; requests that joined do not count
 */
export function otherSettings(fields, { study, begunWith }, { settings }) {
  const requests = study.requests.slice(0, begunWith);
  const was = fieldsOf({ ...study, requests, rounds: [settings] }, fields);
  const differs = (field) => String(typedIn(was, field)).trim() !== String(typedIn(fields, field)).trim();
  const differences = [];
  if (differs("count")) differences.push(requestCount(requests.length));
  if (othersIn(was, fields, "arrives")) differences.push(arrivals(requests));
  if (othersIn(was, fields, "prompt")) differences.push(msg`other prompts`);
  if (was.sameSystem !== fields.sameSystem)
    differences.push(was.sameSystem ? msg`a system prompt` : msg`no system prompt`);
  else if (was.sameSystem && was.system !== fields.system) differences.push(msg`another system prompt`);
  if (othersIn(was, fields, "newTokens")) differences.push(answerLimits(requests));
  if (["cancel", "cancelTokens", "retry"].some((name) => othersIn(was, fields, name)))
    differences.push(cancellations(requests));
  if (differs("contiguous") || (was.contiguous && differs("reserved")))
    differences.push(
      was.contiguous
        ? msg`one reserved stretch per request, for an answer of ${tokenCount(Number(was.reserved))}`
        : msg`blocks as needed`,
    );
  for (const { field, text } of SETTINGS) if (differs(field)) differences.push(text(typedIn(was, field)));
  if (["draft_by", ...draftNumbers(was.settings)].some(differs)) differences.push(draftText(settings.draft));
  return differences;
}

/** Compares the requests that both have; their number is compared separately. */
function othersIn(was, fields, name) {
  const both = Math.min(was.requests.length, fields.requests.length);
  return fields.requests.slice(0, both).some((request, at) => request[name].trim() !== was.requests[at][name].trim());
}

function arrivals(requests) {
  return requests.every(({ arrives_ms }) => arrives_ms === 0)
    ? msg`all arrive at the same time`
    : msg`other arrival times`;
}

function answerLimits(requests) {
  const [{ max_new_tokens: first }] = requests;
  return requests.every(({ max_new_tokens }) => max_new_tokens === first)
    ? plural(first, form`at most ${first} new token each`, form`at most ${first} new tokens each`)
    : msg`other limits of new tokens`;
}

function cancellations(requests) {
  return requests.some(({ cancel_ms, cancel_tokens }) => cancel_ms !== null || cancel_tokens !== null)
    ? msg`other cancellations`
    : msg`no cancellation`;
}
