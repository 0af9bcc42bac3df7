/**
 * The peak of a GPU that limits a matrix product: the peak for its format, if the GPU multiplies that format. Otherwise the
 * GPU converts the numbers and multiplies them in 16 bits. Pure.
 *
 * @typedef {Object} Gpu
 * @property {number} flops FLOP/s of a dense product in 16 bits, added in 32 bits
 * @property {{fp32?: number, fp8?: number, int8?: number, fp4?: number}} [peaks] of the other formats that it multiplies
 *
 * @typedef {{flops: number, format: string}} Peak `format`: as the page names it
 */

import { msg } from "../words/msg.js";

const SIXTEEN = msg`16 bits`;
/** By dtype; int4 weights are always converted. */
const FORMATS = { fp32: "fp32", fp8: "fp8", int8: "int8", mxfp4: "fp4", nvfp4: "fp4" };
/** Attention never multiplies whole numbers: the GPU converts such a cache. */
const OF_ATTENTION = { fp32: "fp32", fp8: "fp8" };

/** @returns {Peak} */
function peakOf({ flops, peaks = {} }, format) {
  return format in peaks ? { flops: peaks[format], format } : { flops, format: SIXTEEN };
}

/**
 * @param {Gpu} gpu
 * @param {import("./dtypes.js").Stored} stored weights
 * @returns {Peak}
 */
export function peakOfWeights(gpu, { dtype }) {
  return peakOf(gpu, FORMATS[dtype]);
}

/**
 * @param {Gpu} gpu
 * @param {import("./dtypes.js").Stored} stored cache
 * @returns {Peak}
 */
export function peakOfAttention(gpu, { dtype }) {
  return peakOf(gpu, OF_ATTENTION[dtype]);
}
