/** What is locked, in words. Pure. */

import { quoted } from "../../shared/facts/format.js";

/** @returns {string} “it” → “animal”; of a query alone “it” */
export function lockedInWords(run, { query, key }) {
  const name = (position) => quoted(run.tokens[position], 12);
  if (query === null) return `the newest token → ${name(key)}`;
  return key === null ? name(query) : `${name(query)} → ${name(key)}`;
}

/**
 * @param {Object} run
 * @param {{query: number|null, key: number|null}} locked
 * @param {{newest: number, step: number}} sight the last row and the step in sight
 * @returns {string|null} where what is locked is not of that step
 */
export function noteOf(run, locked, sight) {
  const { query, key } = locked;
  const { newest, step } = sight;
  const last = Math.max(query ?? 0, key ?? 0);
  if (last > newest) return `${quoted(run.tokens[last], 12)} comes in step ${run.stepOfQuery(last)}`;
  const made = query === null ? step : run.stepOfQuery(query);
  if (made === step) return null;
  return `of step ${made}: only its K and V are read now`;
}
