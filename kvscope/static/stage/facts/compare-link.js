/** Links to the page that shows two runs side by side. */

import { under } from "../../shared/log/root.js";

/** @returns {string} the id by which that page finds a run or a saved session */
export const idOf = (run) => run.saved?.id ?? run.id;

/**
 * @param {string} a id of a run or a saved session
 * @param {string|null} [b] null: to be chosen there
 * @returns {string} the path of the page
 */
export function compareLink(a, b = null) {
  const query = new URLSearchParams({ a, ...(b ? { b } : {}) });
  return under(`/compare?${query}`);
}
