/**
 * The experiment with a token budget: long prompts arrive while others get their tokens, and passes read all of them at once, or as
 * much as the budget allows. Its sentences count rows and passes in the log. Pure.
 */

import { integer } from "../shared/facts/format.js";
import { passCount, rowCount } from "../shared/words/counts.js";
import { msg } from "../shared/words/msg.js";
import { firstTokenMs, longestGap, mean, rowsOf } from "./measures.js";
import { LONG, NEVER_CANCELLED } from "./prompts.js";
import { wholeMs } from "./whole-ms.js";

const BUDGET = 64;
/** Each of its prompts may be read in one pass. */
const WHOLE = 512;
/** The first requests have short prompts, and still get tokens when the others arrive. */
const SHORT = 2;
const LONG_PROMPTS = 3;
const TOKENS = { short: 48, long: 4 };
/** Enough for the first requests to have their first token. */
const OTHERS_ARRIVE_MS = 400;
const SETTINGS = { at_once: 8, chunk: WHOLE, blocks: 96, draft: null, sharing: false };

/** An entry of the list in experiments.js. */
export const BUDGETED = {
  id: "budget",
  name: msg`Token budget`,
  about: msg`Two requests get their tokens when three long prompts arrive. No limit: one pass reads all three prompts. Budget: a pass has at most ${BUDGET} tokens of all requests; next tokens come first, and parts of prompts fill the rest (max_num_batched_tokens of vLLM).`,
  setting: "budget",
  values: [
    { value: null, name: msg`no limit` },
    { value: BUDGET, name: msg`${BUDGET} per pass` },
  ],
  prepare: ({ system, requests, settings }) => ({
    system,
    requests: [...requests.slice(0, SHORT).map(asShort), ...Array.from({ length: LONG_PROMPTS }, asLong)],
    settings: { ...settings, ...SETTINGS },
  }),
  conclusion: (before, after) => [largest(before), largest(after), cost(before, after)].join(" "),
  figures: [
    {
      name: msg`longest wait of the first two requests for a next token`,
      of: ({ answers }) => longestGap({ answers: answers.slice(0, SHORT) }),
      format: wholeMs,
      better: /** @type {const} */ ("less"),
      timed: true,
    },
    { name: msg`rows of the largest pass`, of: mostRows, format: integer, better: /** @type {const} */ ("less") },
    {
      name: msg`first token of the long prompts, on average`,
      of: ({ answers }) => mean(answers.slice(SHORT).map(firstTokenMs)),
      format: wholeMs,
      better: /** @type {const} */ ("less"),
      timed: true,
    },
  ],
};

function asShort(request) {
  return { ...request, ...NEVER_CANCELLED, arrives_ms: 0, max_new_tokens: TOKENS.short };
}

function asLong() {
  return { prompt: LONG, ...NEVER_CANCELLED, arrives_ms: OTHERS_ARRIVE_MS, max_new_tokens: TOKENS.long };
}

function mostRows({ round }) {
  return Math.max(0, ...round.passes.map(rowsOf));
}

function largest({ name, round }) {
  const reading = round.passes.filter(({ members }) => members.some(({ phase }) => phase === "prefill"));
  return msg`Round “${name}”: prompts were read in ${passCount(reading.length)}, the largest with ${rowCount(mostRows({ round }))}.`;
}

/** The price of the budget: the long prompts are read later. */
function cost(before, after) {
  const last = ({ answers }) => Math.max(...answers.slice(SHORT).flatMap(({ reads }) => reads.map(({ pass }) => pass)));
  const passes = ({ round, answers }) => last({ answers }) - round.passes[0].number + 1;
  const [one, other] = [before, after].map((side) => integer(passes(side)));
  return msg`The last of the long prompts was read in pass ${other} instead of pass ${one}.`;
}
