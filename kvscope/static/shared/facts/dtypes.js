/** The number formats of a model, from the `model` object of an `open` frame. Pure. */

import { msg } from "../words/msg.js";

const BYTES = { float32: 4, float16: 2, bfloat16: 2 };
const SHORT = { float32: "fp32", float16: "fp16", bfloat16: "bf16" };

/** @returns {string} "bfloat16" → "bf16" */
export const shortDtype = (dtype) => SHORT[dtype] ?? dtype;

/** @returns {number} bytes of one number of a matrix or the embedding, unless they are in groups */
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
