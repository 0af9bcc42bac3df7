/** Whether a run can be shared. Pure. */

import { msg } from "../../shared/words/msg.js";

/** @returns {string|null} why the run cannot be shared; null if it can */
export function shareRefusal(run) {
  if (!run?.open) return msg`Run a prompt first`;
  if (!run.close) return msg`You can share the run when it has ended`;
  return run.steps.length ? null : msg`This run ended before its first step, so it has nothing to show`;
}
