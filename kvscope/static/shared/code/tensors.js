/** The tensors of a line in words: name, shape, dtype and bytes. Pure. */

import { bytes, integer } from "../facts/format.js";

/** @typedef {{of: string, hook: boolean, shape: number[], dtype: string, bytes: number}} Tensor of a line */

/** @returns {string} the variable or hook point, without its part of the model; "→" for what is returned */
export function nameOf({ of }) {
  return of.split(".").at(-1) || "→";
}

/** @returns {string} "[1, 9, 64]" */
export function shapeOf({ shape }) {
  return `[${shape.map(integer).join(", ")}]`;
}

/**
 * @param {Tensor[]} tensors of a line
 * @returns {string} dtype and bytes: "float32 2,304 + 768 B"; each dtype once
 */
export function sizesOf(tensors) {
  const dtypes = [...new Set(tensors.map(({ dtype }) => dtype))];
  return dtypes
    .map((dtype) => {
      const sizes = tensors.filter((tensor) => tensor.dtype === dtype).map((tensor) => tensor.bytes);
      const before = sizes.slice(0, -1).map((size) => `${integer(size)} + `);
      return `${dtype} ${before.join("")}${bytes(sizes.at(-1))}`;
    })
    .join(", ");
}
