/** The boxes that lie over the masked half of the matrix. Pure. head.css has the same widths. */

/** From this width on, bars and heads are in a column beside the matrix. */
const COLUMN_FROM_PX = 640;
/** From this width on, only the bars; below it, both are under the matrix. */
const BARS_FROM_PX = 520;
const COLUMN_PX = 198;
const BARS = { wide: 240, narrow: 196, height: 158 };

/**
 * @param {{width: number, height: number}} size of the room for the matrix
 * @returns {{x0: number, y1: number}[]} as `taken` of `matrixGeometry`
 */
export function takenFrom({ width, height }) {
  if (width >= COLUMN_FROM_PX)
    return [
      { x0: width - BARS.wide, y1: BARS.height },
      { x0: width - COLUMN_PX, y1: height },
    ];
  return width >= BARS_FROM_PX ? [{ x0: width - BARS.narrow, y1: BARS.height }] : [];
}
