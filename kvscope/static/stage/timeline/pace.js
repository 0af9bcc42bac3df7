/** The sampling settings of a run, and how much slower or faster it is shown than it ran. Pure. */

import { fixed, integer } from "../../shared/facts/format.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { settingsInWords } from "../next-token/sampling.js";

/** @returns {string} such as "Next token: always the likeliest · answer: at most 16 tokens" */
export function settingsOfRun({ sampling, limits, study }) {
  const settings = settingsInWords(sampling);
  const most = integer(limits.max_new_tokens);
  return [
    sampling.strategy === "greedy" ? msg`Next token: always the likeliest` : msg`Next token: sampled, ${settings}`,
    plural(limits.max_new_tokens, form`answer: at most ${most} token`, form`answer: at most ${most} tokens`),
    study?.cache === "none" && msg`no KV cache`,
    study?.cache === "forgotten" && msg`KV cache forgotten`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/**
 * @param {number} factor how many times longer than measured a step is shown
 * @returns {string}
 */
export function paceInWords(factor) {
  const ratio = factor >= 1 ? factor : 1 / factor;
  const times = fixed(ratio, ratio < 9.95 ? 1 : 0).replace(/\.0$/, "");
  if (times === "1") return msg`shown at measured speed`;
  return factor < 1 ? msg`shown ${times}× faster than measured` : msg`shown ${times}× slower than measured`;
}
