/**
 * What may be asked for, as the server tells the page: for each thing that can be asked the least and the most of its
 * members (app/http/page_limits.py). Pure.
 *
 * @typedef {Object<string, Object<string, [number, number]>>} Limits by thing, then by member
 */

/**
 * @param {Limits} limits
 * @param {"run"|"beam"|"candidates"|"workload"|"share"} thing
 * @param {string} member
 * @returns {number[]} least and most, of a text its characters; nothing in a file, where nothing can be asked
 */
export function limitOf(limits, thing, member) {
  return limits[thing]?.[member] ?? [];
}

/** @returns {number|undefined} the most, as of `limitOf` */
export function mostOf(limits, thing, member) {
  return limitOf(limits, thing, member)[1];
}
