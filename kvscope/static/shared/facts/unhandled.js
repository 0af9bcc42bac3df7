/**
 * Ends a `switch` over all possible values. When a value is added, the type check reports each switch that lacks it.
 *
 * @param {never} value without a case
 * @returns {never}
 */
export function unhandled(value) {
  throw new RangeError(`no case for ${value}`);
}
