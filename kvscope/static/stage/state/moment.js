/** The current step, selection and view: as data for a link, and as a sentence. Pure. */

import { viewName } from "../../shared/state/views.js";
import { msg } from "../../shared/words/msg.js";

/** @returns {Object} the step, selection and view that a link would open */
export function momentOf({ step, selection }) {
  const { layer, head, query, key, view } = selection;
  return { step, layer, head, query, key, view };
}

/** @returns {string} "Step 3, layer 13, head 8, in the view “head”" */
export function momentInWords({ step, layer, head, view }) {
  return msg`Step ${step}, layer ${layer}, head ${head}, in the view “${viewName(view)}”`;
}
