/**
 * The limits of requests, as the server sends them: for each kind of request, the least and the most of each member
 * (app/http/shell.py). Pure.
 *
 * @typedef {Object<string, Object<string, [number, number]>>} Limits by kind of request, then by member
 */

/**
 * @param {Limits} limits
 * @param {"run"|"beam"|"change"|"candidates"|"effects"|"workload"|"share"|"question"|"vote"} thing
 * @param {string} member
 * @returns {number[]} least and most, of a text in characters; empty in a saved file, which sends no requests
 */
export function limitOf(limits, thing, member) {
  return limits[thing]?.[member] ?? [];
}

/** @param {Object} limits  @returns {number} the most requests of a workload whose passes record the state of each */
export function mostStates(limits) {
  return limits.workload_states;
}

/** @returns {number|undefined} the upper bound of `limitOf` */
export function mostOf(limits, thing, member) {
  return limitOf(limits, thing, member)[1];
}
