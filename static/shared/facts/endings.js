/** Why a run ended, in words. */

import { counted } from "./format.js";

const ENDINGS = {
  eos: "the model ended its answer",
  length: "limit of new tokens reached",
  stopped: "stopped",
  failed: "failed",
  interrupted: "interrupted",
};

/** @returns {string} a few words for the end of the timeline; "" while the run is open */
export function ending(close) {
  return close ? (ENDINGS[close.reason] ?? close.reason) : "";
}

/**
 * @param {import("../log/run.js").Run} run that has closed
 * @returns {{title: string, detail: string}|null} what to tell when it did not end as it should; null when it did
 */
export function reasonOfClose(run) {
  const { reason, error } = run.close;
  const kept = run.steps.length
    ? `Everything up to there is kept: ${counted(run.steps.length, "step")} to look at.`
    : "No step was complete.";
  if (reason === "interrupted") {
    return { title: `The engine stopped at step ${run.steps.length}`, detail: `${kept} Press Run to start again.` };
  }
  if (reason === "failed") {
    return { title: `The run failed at step ${run.steps.length}`, detail: [error, kept].filter(Boolean).join(" ") };
  }
  return null;
}
