/** What is in sight: as data for a link, and in words. Pure. */

import { placeOf } from "../facts/saved-session.js";
import { viewName } from "./views.js";

/** @returns {Object} the moment in sight, as a link would name it */
export function momentOf({ step, selection }) {
  const { layer, head, query, key, view } = selection;
  return { step, layer, head, query, key, view };
}

/** @returns {string} "Step 3, layer 13, head 8, in the view “head”" */
export function momentInWords(moment) {
  const place = placeOf(moment);
  return `${place[0].toUpperCase()}${place.slice(1)}, in the view “${viewName(moment.view)}”`;
}
