/** How a prompt went through the model. Pure. */

import { counted } from "./format.js";

/** @param {{prefillPasses: number}} run @returns {string} "at once", or "in 4 passes" where it was too long for one */
export function passesInWords({ prefillPasses }) {
  return prefillPasses > 1 ? `in ${counted(prefillPasses, "pass", "passes")}` : "at once";
}
