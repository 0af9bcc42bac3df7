/** The number of passes that prefill needed. Pure. */

import { form, msg, plural } from "../words/msg.js";
import { integer } from "./format.js";

/** @param {{prefillPasses: number}} run @returns {string} "at once", or "in 4 passes" if the prompt was too long for one */
export function passesInWords({ prefillPasses }) {
  if (!(prefillPasses > 1)) return msg`at once`;
  const passes = integer(prefillPasses);
  return plural(prefillPasses, form`in ${passes} pass`, form`in ${passes} passes`);
}
