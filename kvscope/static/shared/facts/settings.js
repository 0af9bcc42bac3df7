/** The settings of a run in words. Pure. */

import { form, msg, plural } from "../words/msg.js";
import { integer } from "./format.js";

/** @returns {string} settings as text: "greedy", or "temperature 0.7, top-k 40, top-p 0.95" */
export function settingsInWords({ strategy, temperature, top_k: topK, top_p: topP }) {
  if (strategy === "greedy") return msg`greedy`;
  const k = topK || msg`off`;
  const p = topP < 1 ? topP : msg`off`;
  return msg`temperature ${temperature}, top-k ${k}, top-p ${p}`;
}

function choiceInWords(sampling) {
  if (!sampling) return msg`Next token: it is not known how it was chosen`;
  if (sampling.strategy === "greedy") return msg`Next token: always the likeliest`;
  const settings = settingsInWords(sampling);
  return msg`Next token: sampled, ${settings}`;
}

/** @returns {string} such as "Next token: always the likeliest · answer: at most 16 tokens" */
export function settingsOfRun({ sampling, limits, study }) {
  const most = integer(limits?.max_new_tokens ?? 0);
  return [
    choiceInWords(sampling),
    limits && plural(limits.max_new_tokens, form`answer: at most ${most} token`, form`answer: at most ${most} tokens`),
    study?.cache === "none" && msg`no KV cache`,
    study?.cache === "forgotten" && msg`KV cache forgotten`,
  ]
    .filter(Boolean)
    .join(" · ");
}
