/** Times of passes. Pure. */

import { integer } from "../shared/facts/format.js";
import { msg } from "../shared/words/msg.js";

/** @returns {string} a time without decimals */
export function wholeMs(value) {
  const number = integer(value);
  return msg`${number} ms`;
}
