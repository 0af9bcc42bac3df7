/** What the page says of a step while few of its parts are in sight. Pure. */

import { timed } from "../../shared/facts/conditions.js";
import { bytesShort, integer, percent, quoted } from "../../shared/facts/format.js";
import { stepRows } from "../../shared/facts/step-rows.js";
import { form, msg, plural } from "../../shared/words/msg.js";

/** Characters of a token before it is cut. */
const TOKEN_CHARS = 16;

/**
 * @param {Object} run
 * @param {number} step a complete one
 * @returns {string} what the step read and what was chosen: "The model read 11 tokens at once and chose “far” (60 %)."
 */
export function answerOf(run, step) {
  const { token } = run.steps[step].data;
  const name = quoted(token, TOKEN_CHARS);
  const read = readBy(run, step);
  if (token.forced) return msg`${read}. ${name} was set by this branch.`;
  return token.prob === null
    ? msg`${read}. ${name} was chosen.`
    : msg`${read} and chose ${name} (${percent(token.prob, 0)}).`;
}

/** @returns {string} the beginning of a sentence */
function readBy(run, step) {
  const { computed, read } = stepRows(run, step);
  const [rows, kept] = [integer(computed), integer(read)];
  if (computed === 0) return msg`The run that this one branched from read this text`;
  if (read === 0)
    return plural(computed, form`The model read ${rows} token`, form`The model read ${rows} tokens at once`);
  const newest = quoted(run.tokens[run.lastQueryOfStep(step)], TOKEN_CHARS);
  const what = computed === 1 ? newest : msg`${rows} tokens at once`;
  return plural(
    read,
    form`The model read ${what} with what was kept of ${kept} token`,
    form`The model read ${what} with what was kept of ${kept} tokens`,
  );
}

/**
 * @param {Object} run
 * @param {number} step a complete one
 * @returns {{part: string, title: string}[]} the folded parts, each with its figure of the step
 */
export function foldsOf(run, step) {
  const { data } = run.steps[step];
  return [
    { part: "next-token", title: msg`Why ${quoted(data.token, TOKEN_CHARS)}?` },
    data.kv && { part: "kv-cache", title: msg`What was kept: ${bytesShort(data.kv.bytes_used)}` },
    data.ms && { part: "time", title: msg`How long: ${timed(data.ms.total, data)}` },
  ].filter(Boolean);
}
