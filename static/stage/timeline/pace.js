/** How a run was asked to choose, and how fast it is shown, in words. Pure. */

import { counted, fixed } from "../../shared/facts/format.js";
import { settingsInWords } from "../next-token/sampling.js";

/** @returns {string} such as "always the likeliest token · at most 16 new tokens" */
export function settingsOfRun({ sampling, limits, study }) {
  const choice = sampling.strategy === "greedy" ? "Always the likeliest token" : `Drawn: ${settingsInWords(sampling)}`;
  const cache =
    study?.cache === "none" ? " · no KV cache" : study?.cache === "forgotten" ? " · KV cache forgotten" : "";
  return `${choice} · at most ${counted(limits.max_new_tokens, "new token")}${cache}`;
}

/**
 * @param {number} factor how many times longer than measured a step is shown
 * @param {boolean} [opens] one of its layers opens, and is shown longer than the others
 * @returns {string} "" where it is shown as fast as it was
 */
export function paceInWords(factor, opens = false) {
  const times = factor >= 1 ? factor : 1 / factor;
  const rounded = fixed(times, times < 9.95 ? 1 : 0).replace(/\.0$/, "");
  if (rounded === "1") return `shown as fast as it ran${opens ? ", but for the open layer" : ""}`;
  if (factor < 1) return `sped up ${rounded}×${opens ? ", but for the open layer" : ""}`;
  return `slowed down ${rounded}× to be seen${opens ? ", more in the open layer" : ""}`;
}
