/** Figures as texts print them, each with what is right: the entries of figures.json, which the search finds too. Pure. */

import entries from "./figures.json" with { type: "json" };

/**
 * @typedef {Object} Figure
 * @property {string} id
 * @property {string} group "memory", "formats", "loop", "example", "measured" or "sentences"
 * @property {"wrong"|"right"|"elsewhere"} kind "elsewhere": no formula gives it, it was measured or given as an example
 * @property {string} name as printed
 * @property {string} text what it is of, what is right, and why the printed one differs
 * @property {string} shows the address of the place that computes or measures it
 */

/** @type {Figure[]} */
export const FIGURES = /** @type {*} */ (entries);

/** @returns {string} the address of the page that computes the figure, with other inputs than its own if some are named */
export function figureAddress(id, inputs = {}) {
  return `/learn/figures?${new URLSearchParams({ figure: id, ...inputs })}`;
}
