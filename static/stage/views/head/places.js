/** What stands beside the matrix, over its masked half. Pure. head.css has the same widths. */

/** From this width on, bars and heads stand in a column beside the matrix. */
const COLUMN_FROM_PX = 640;
/** From this width on, bars alone; what is narrower has all of it under the matrix. */
const BARS_FROM_PX = 520;
const COLUMN_PX = 198;
const BARS = { wide: 240, narrow: 196, height: 158 };

/**
 * @param {{width: number, height: number}} size of the matrix's place
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
