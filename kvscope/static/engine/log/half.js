/** Converts to half precision (IEEE 754 binary16). Pure. */

const LARGEST = 65504;
const SMALLEST_NORMAL = 2 ** -14;
/** Adding it to a smaller number and subtracting it again rounds that to an integer, ties to even. */
const ROUNDING = 2 ** 23;

/**
 * @param {Float32Array} numbers
 * @returns {Uint16Array|null} bits of the nearest halves, ties to even; null if a number is larger than any half
 */
export function halvesOf(numbers) {
  const halves = new Uint16Array(numbers.length);
  const bits = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
  for (let i = 0; i < numbers.length; i++) {
    const size = Math.abs(numbers[i]);
    if (!(size <= LARGEST)) return null;
    const sign = (bits[i] >>> 16) & 0x8000;
    const positive = bits[i] & 0x7fffffff;
    // A normal number loses 13 bits of its fraction, and the bias of its exponent changes from 127 to 15.
    const magnitude =
      size < SMALLEST_NORMAL
        ? Math.fround(size * 2 ** 24 + ROUNDING) - ROUNDING
        : ((positive + 0xfff + ((positive >>> 13) & 1)) >>> 13) - (112 << 10);
    halves[i] = sign | magnitude;
  }
  return halves;
}
