/** Whether the times of two runs may stand side by side. Pure. */

import { formatReadBy } from "../shared/facts/weights.js";
import { msg } from "../shared/words/msg.js";

/**
 * @param {import("../shared/log/run.js").Run} a
 * @param {import("../shared/log/run.js").Run} b
 * @param {(run: import("../shared/log/run.js").Run) => boolean} isHere whether this server computed a run
 * @returns {string|null} why they may not: perhaps two machines measured them, or the weights were read in two formats; null: they may
 */
export function timesApart(a, b, isHere) {
  if (isHere(a) !== isHere(b))
    return msg`One of the runs was recorded, perhaps on another machine, so times do not stand side by side.`;
  const [one, other] = [a, b].map(({ steps }) => formatReadBy(steps));
  if (one !== null && other !== null && one !== other)
    return msg`A reads the weights in ${one}, B in ${other}, so times do not stand side by side.`;
  return null;
}
