/** Names and sentences of the policies, from measured numbers only. Pure. */

import { bytes, integer, percent, quoted } from "../../../../shared/facts/format.js";
import { form, msg, plural } from "../../../../shared/words/msg.js";
import { partsOf } from "./facts.js";

export const NAMES = {
  window: msg`Sliding window`,
  sinks: msg`Attention sinks`,
  heavy: msg`Heavy hitters`,
};

/** @returns {string} which positions stay, such as "the first 4 and the newest 12 positions" */
export function stayingText(policy, budget) {
  const { sinks, heavy, newest } = partsOf(policy, budget);
  const recent = plural(newest, form`the newest ${newest} position`, form`the newest ${newest} positions`);
  if (sinks) return msg`the first ${sinks} and ${recent}`;
  if (heavy) return msg`${recent}, and in each KV head the ${heavy} that got most attention`;
  return recent;
}

/** @returns {string} what a policy kept and lost, by its numbers only */
export function resultText(run, result, loss) {
  const whole = run.steps.at(-1).data.kv;
  const [bytesCached, bytesWhole] = [bytes(result.bytes), bytes(whole.bytes_used)];
  const atEnd = msg`At the end, ${integer(result.positions)} of ${integer(whole.positions)} positions are cached: ${bytesCached} instead of ${bytesWhole}.`;
  const attention = msg`A head loses ${percent(loss.mean, 0)} of its attention on average.`;
  return `${atEnd} ${attention} ${otherText(result)}`;
}

/** @returns {string} from which step on the choice differs */
function otherText({ change, kl }) {
  if (change)
    return msg`Step ${change.step} is the first that would choose another token: ${quoted(change.after)} instead of ${quoted(change.before)}.`;
  return plural(
    kl.length,
    form`It would choose the same token in ${kl.length} step.`,
    form`It would choose the same token in all ${kl.length} steps.`,
  );
}
