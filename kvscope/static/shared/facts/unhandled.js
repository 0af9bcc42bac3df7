/**
 * For the end of a `switch` over all that a value may be. Where one is added, the type check names each switch that lacks it.
 *
 * @param {never} value none that is left
 * @returns {never}
 */
export function unhandled(value) {
  throw new RangeError(`no case for ${value}`);
}
