/**
 * Stores a number in each format: rounded to the nearest, ties to even. Pure.
 *
 * Floating point: IEEE 754; bfloat16 and TF32 have float32's exponent with 7 and 10 bits of fraction; FP8 E4M3 as in arXiv:2209.05433,
 * which has no infinity. Whole numbers share a scale with a group of others, whose largest size is ÷ 127 or ÷ 7, as in this engine's
 * smaller caches (model/small_cache.py).
 */

/**
 * @typedef {{id: string, bits: number, bytes: number, exponent: number, fraction: number, least: number, most: number, subnormals: boolean,
 *   overflow: number}} Float `exponent`, `fraction`: bits; `least`: exponent of the smallest normal number; `most`: largest number;
 *   `overflow`: what a larger one becomes
 */

const float = (id, bits, exponent, fraction, rest = {}) => {
  const bias = 2 ** (exponent - 1) - 1;
  const most = (2 - 2 ** -fraction) * 2 ** bias;
  return {
    id,
    kind: "float",
    bits,
    bytes: bits / 8,
    exponent,
    fraction,
    least: 1 - bias,
    most,
    overflow: Infinity,
    ...rest,
  };
};

const integerFormat = (id, bits) => ({ id, kind: "whole", bits, bytes: bits / 8, most: 2 ** (bits - 1) - 1 });

/** @type {Object[]} in the order of the table. TF32 is what tensor cores read of a float32: 19 of its 32 bits. */
export const FORMATS = [
  float("fp32", 32, 8, 23),
  float("tf32", 19, 8, 10, { bytes: 4 }),
  float("bf16", 16, 8, 7),
  float("fp16", 16, 5, 10),
  // The largest exponent holds numbers too; only the largest fraction in it is "not a number".
  float("fp8 e4m3", 8, 4, 3, { most: 448, overflow: 448 }),
  integerFormat("int8", 8),
  integerFormat("int4", 4),
];

/** @returns {number} the smallest number above 0: the step between the smallest numbers */
export const smallestOf = ({ least, fraction }) => 2 ** (least - fraction);

/** @returns {number} the step from 1 to the next number */
export const stepAtOne = ({ fraction }) => 2 ** -fraction;

/**
 * @param {number} value
 * @param {Object} format of `FORMATS`
 * @param {number} largest size of the numbers that share a scale; used by whole numbers only
 * @returns {{stored: number, code: number|null, scale: number|null}} `stored`: the value read back; `code`, `scale`: of whole numbers
 */
export function stored(value, format, largest) {
  return format.kind === "whole"
    ? inGroup(value, format, largest)
    : { stored: rounded(value, format), code: null, scale: null };
}

/** Rounds as torch does: the number is a float32 first. */
function rounded(value, { fraction, least, most, overflow }) {
  const single = Math.fround(value);
  if (!Number.isFinite(single)) return Math.sign(single) * overflow;
  if (single === 0) return single;
  const step = 2 ** (Math.max(least, exponentOf(single)) - fraction);
  const nearest = halfToEven(single / step) * step;
  return Math.abs(nearest) > most ? Math.sign(nearest) * overflow : nearest;
}

function inGroup(value, { most }, largest) {
  const size = Math.max(Math.abs(largest), Math.abs(value));
  if (size === 0) return { stored: 0, code: 0, scale: 0 };
  const scale = rounded(
    size / most,
    FORMATS.find(({ id }) => id === "fp16"),
  );
  const code =
    scale > 0 && Number.isFinite(scale) ? Math.min(most, Math.max(-most, halfToEven(value / scale))) : Number.NaN;
  return { stored: code * scale, code, scale };
}

/** @returns {number} e where 2^e ≤ |value| < 2^(e + 1), read from the bits of a float64, because a logarithm rounds */
function exponentOf(value) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return ((view.getUint32(0) >>> 20) & 0x7ff) - 1023;
}

function halfToEven(value) {
  const low = Math.floor(value);
  const rest = value - low;
  if (rest !== 0.5) return Math.round(value);
  return low % 2 === 0 ? low : low + 1;
}

/** Returns the bits of a stored number: sign, exponent, fraction; null if a format has no such parts. */
export function bitsOf(number, format) {
  if (format.kind === "whole" || !Number.isFinite(number)) return null;
  const { exponent, fraction, least } = format;
  const sign = number < 0 || Object.is(number, -0) ? "1" : "0";
  const size = Math.abs(number);
  const power = size === 0 ? least : Math.max(least, exponentOf(size));
  const steps = size / 2 ** (power - fraction);
  const isNormal = steps >= 2 ** fraction;
  const code = isNormal ? power - least + 1 : 0;
  const rest = isNormal ? steps - 2 ** fraction : steps;
  return {
    sign,
    exponent: code.toString(2).padStart(exponent, "0"),
    fraction: rest.toString(2).padStart(fraction, "0"),
  };
}
