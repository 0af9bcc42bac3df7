/** What a model's numbers are kept as, from the `model` object of an `open` frame. Pure. */

const BYTES = { float32: 4, float16: 2, bfloat16: 2 };
const SHORT = { float32: "fp32", float16: "fp16", bfloat16: "bf16" };

/** @returns {string} "bfloat16" → "bf16" */
export const shortDtype = (dtype) => SHORT[dtype] ?? dtype;

/** @returns {string} "float32", or where weights are kept smaller "float32 with weights in bfloat16" */
export function keptAs(model) {
  const own = model.weight_dtype;
  return own === model.dtype ? own : `${model.dtype} with weights in ${own}`;
}

/** @returns {number} bytes of one number of a matrix or the embedding */
export function weightElementBytes(model) {
  const own = model.weight_dtype;
  return own === model.dtype ? model.element_bytes : BYTES[own];
}

/** @returns {string} why two ways to the same product differ a little */
export function rounding(model) {
  const own = model.weight_dtype;
  return own === model.dtype
    ? "float32 rounding"
    : `float32 rounding, and to ${shortDtype(own)} of what is multiplied with weights`;
}
