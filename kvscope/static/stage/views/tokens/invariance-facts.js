/** What steps computed alone and beside other requests say, and the digits and bits of a float32. Pure. */

/** Significant digits after which every float32 has another text. */
const DIGITS = 9;

/** @typedef {{differing: number, largest: number, alone: Object, beside: Object}} Twice */

/**
 * Sums up the steps compared so far.
 *
 * @param {Object[]} steps as `/invariance` answers
 * @param {(step: Object) => Twice} of the kernel
 * @returns {{differing: number, largest: number, parts: Object|null}} logits that differ in all steps, the largest difference, and the
 *   first step that chooses another token; null if none does
 */
export function summed(steps, of) {
  return {
    differing: steps.reduce((sum, each) => sum + of(each).differing, 0),
    largest: Math.max(0, ...steps.map((each) => of(each).largest)),
    parts: steps.find((each) => of(each).alone.id !== of(each).beside.id) ?? null,
  };
}

/** @returns {Object} the step whose two largest logits are nearest */
export function closest(steps) {
  return steps.reduce((best, each) => (each.gap < best.gap ? each : best));
}

/** @returns {number} how many decimals a float32 needs, so that no other one has the same text */
export function decimalsOf(value) {
  return value === 0 ? 1 : Math.min(20, Math.max(1, DIGITS - 1 - Math.floor(Math.log10(Math.abs(value)))));
}

/** @returns {{sign: string, exponent: string, fraction: string}} the bits of a float32 (IEEE 754), most significant first */
export function bitsOf(value) {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value);
  const bits = view.getUint32(0).toString(2).padStart(32, "0");
  return { sign: bits[0], exponent: bits.slice(1, 9), fraction: bits.slice(9) };
}
