/** The locked cell, in words. Pure. */

import { quoted } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";

/** @returns {string} “it” → “animal”; of a query alone “it” */
export function lockedInWords(run, { query, key }) {
  const name = (position) => quoted(run.tokens[position], 12);
  if (query === null) {
    const token = name(key);
    return msg`the newest token → ${token}`;
  }
  return key === null ? name(query) : `${name(query)} → ${name(key)}`;
}

/**
 * @param {Object} run
 * @param {{layer: number, query: number|null, key: number|null}} locked
 * @param {{newest: number, step: number}} sight the last row and the step that are shown
 * @returns {string|null} of which step the locked cell is, if not of the shown one; or why it is not shown
 */
export function noteOf(run, locked, sight) {
  const { layer, query, key } = locked;
  const { newest, step } = sight;
  const last = Math.max(query ?? 0, key ?? 0);
  if (last > newest) {
    const [token, later] = [quoted(run.tokens[last], 12), run.stepOfQuery(last)];
    return msg`${token} is computed in step ${later}`;
  }
  if (key !== null && key < run.firstKey(layer, query ?? newest))
    return msg`outside the window of this local layer; the strongest key is shown instead`;
  const computedIn = query === null ? step : run.stepOfQuery(query);
  if (computedIn === step) return null;
  return msg`computed in step ${computedIn}; later steps read only its K and V`;
}
