/** How much slower or faster it is shown than it ran. Pure. */

import { fixed } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";

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
