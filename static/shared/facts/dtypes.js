/** The number formats of a model, from the `model` object of an `open` frame. Pure. */

import { msg } from "../words/msg.js";

const BYTES = { float32: 4, float16: 2, bfloat16: 2 };
const SHORT = { float32: "fp32", float16: "fp16", bfloat16: "bf16" };

/** @returns {string} "bfloat16" → "bf16" */
export const shortDtype = (dtype) => SHORT[dtype] ?? dtype;

/** @returns {string} "float32", or "float32 with weights in bfloat16" if the weights have another format */
export function keptAs(model) {
  const own = model.weight_dtype;
  const { dtype } = model;
  return own === dtype ? own : msg`${dtype} with weights in ${own}`;
}

/** @returns {number} bytes of one number of a matrix or the embedding */
export function weightElementBytes(model) {
  const own = model.weight_dtype;
  return own === model.dtype ? model.element_bytes : BYTES[own];
}

/** @returns {string} why two ways to compute the same product differ slightly */
export function rounding(model) {
  const own = model.weight_dtype;
  if (own === model.dtype) return msg`float32 rounding`;
  const dtype = shortDtype(own);
  return msg`float32 rounding, and rounding to ${dtype} before a multiplication with weights`;
}
