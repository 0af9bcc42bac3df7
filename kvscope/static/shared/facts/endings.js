/** Why a run ended. */

import { form, msg, plural } from "../words/msg.js";
import { canContinue } from "./branching.js";
import { integer } from "./format.js";

const ENDINGS = {
  eos: msg`the model ended its answer`,
  length: msg`limit of new tokens reached`,
  stopped: msg`stopped`,
  failed: msg`failed`,
  interrupted: msg`interrupted`,
};

/** @returns {string} a label for the end of the timeline; "" while the run is open */
export function ending(close) {
  return close ? (ENDINGS[close.reason] ?? close.reason) : "";
}

/**
 * @param {import("../log/run.js").Run} run that has closed
 * @returns {{title: string, detail: string, continues?: boolean}|null} the problem of a run that failed or was interrupted; null for others
 */
export function reasonOfClose(run) {
  const { reason, error } = run.close;
  const step = run.steps.length;
  if (reason === "interrupted") {
    const continues = canContinue(run);
    const next = continues
      ? msg`It does not continue by itself. Press “Continue from its log” for a new run that begins with these tokens; the engine computes their K and V again.`
      : msg`Press Run to start again.`;
    return { title: msg`The engine stopped at step ${step}`, detail: `${completed(step)} ${next}`, continues };
  }
  if (reason === "failed") {
    return { title: msg`The run failed at step ${step}`, detail: [error, completed(step)].filter(Boolean).join(" ") };
  }
  return null;
}

/** @returns {string} how many steps the log of a broken-off run has */
function completed(count) {
  if (!count) return msg`No step was completed.`;
  const steps = integer(count);
  return plural(
    count,
    form`You can still look at its ${steps} completed step.`,
    form`You can still look at its ${steps} completed steps.`,
  );
}
