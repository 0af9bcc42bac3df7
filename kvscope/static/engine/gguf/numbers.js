/** Numbers of 16 and 32 bits as a file has them. Pure. */

import { halfToNumber } from "../../shared/log/frames.js";

/**
 * The formats of numbers that are not in groups, by GGML's name: the type of their bits, how many bytes one has, and which bits are all
 * set if it is NaN or infinite.
 *
 * @type {Object<string, {Bits: Uint16ArrayConstructor|Uint32ArrayConstructor, bytes: number, exponent: number}>}
 */
export const PLAIN = {
  F32: { Bits: Uint32Array, bytes: 4, exponent: 0x7f800000 },
  F16: { Bits: Uint16Array, bytes: 2, exponent: 0x7c00 },
  BF16: { Bits: Uint16Array, bytes: 2, exponent: 0x7f80 },
};

/** @returns {boolean} whether all numbers are finite; `bytes` begin in a buffer of their own */
export function areFinite(kind, bytes) {
  const { Bits, exponent } = PLAIN[kind];
  const bits = new Bits(bytes.buffer, bytes.byteOffset, bytes.length / Bits.BYTES_PER_ELEMENT);
  for (let i = 0; i < bits.length; i++) if ((bits[i] & exponent) === exponent) return false;
  return true;
}

/** @returns {Float32Array<ArrayBuffer>} the numbers of a small tensor; `bytes` begin in a buffer of their own */
export function numbersOf(kind, bytes) {
  if (kind === "F32") return new Float32Array(bytes.buffer);
  const bits = new Uint16Array(bytes.buffer);
  if (kind === "F16") return Float32Array.from(bits, halfToNumber);
  return new Float32Array(Uint32Array.from(bits, (each) => each << 16).buffer);
}
