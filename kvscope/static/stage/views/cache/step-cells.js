/** One matrix of a decode step as pixels: earlier rows in blue, the newest in amber. Pure. */

import { shade } from "../../../shared/draw/scales.js";
import { paintLane, pixels } from "../../draw/pixels.js";
import { clipOf } from "../block/draw/cells.js";
import { columnsOf, rowOf } from "./step-matrices-facts.js";

/**
 * Paints a matrix; cells narrower than a pixel are combined by the largest.
 *
 * @param {import("./step-matrices-facts.js").StepMatrix} matrix
 * @param {{theme: Object, firstKey: (row: number) => number}} scales `firstKey`: the first key that a row reads
 * @param {{width: number, rowHeight: number, rowGap: number, ratio: number}} size CSS pixels
 */
export function paintMatrix(matrix, { theme, firstKey }, { width, rowHeight, rowGap, ratio }) {
  const [rows, columns] = matrix.again.shape;
  const target = pixels(Math.round(width * ratio), Math.round(rows * rowHeight * ratio));
  const shadeOf = shading(matrix, firstKey);
  for (let row = 0; row < rows; row++) {
    const { from, end } = columnsOf(matrix, row, firstKey);
    const colours = row === rows - 1 ? theme.computedCell : matrix.id === "v" ? theme.cachedV : theme.cachedK;
    paintLane(target, {
      ...{ x0: 0, x1: target.width, capacity: columns, from },
      y0: Math.round(row * rowHeight * ratio),
      y1: Math.round(((row + 1) * rowHeight - rowGap) * ratio),
      shades: Uint8Array.from(rowOf(matrix, row).subarray(0, end), shadeOf),
      colours: colours.packed,
    });
  }
  return target;
}

/** Returns the shade of a number: a weight by its root, as everywhere on the page, another by its size within the matrix. */
function shading(matrix, firstKey) {
  if (matrix.id === "weights") return (value) => shade(Math.sqrt(Math.min(1, value)));
  const clip = clipOf(matrix.triangle ? lowerPart(matrix, firstKey) : matrix.again.data);
  return (value) => shade(clip > 0 ? Math.min(1, Math.abs(value) / clip) : 0);
}

function lowerPart(matrix, firstKey) {
  const rows = Array.from({ length: matrix.again.shape[0] }, (_, row) => {
    const { from, end } = columnsOf(matrix, row, firstKey);
    return [...rowOf(matrix, row).subarray(from, end)];
  });
  return Float32Array.from(rows.flat());
}
