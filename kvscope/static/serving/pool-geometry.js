/** Positions of blocks and of the entries of a block table. Pure. */

/** Up to this number, blocks are larger, with fewer in a row. */
const FEW = 144;
const [COLUMNS, MORE_COLUMNS] = [12, 16];
const GAP_PX = 3;
/** Height of the number under a block. Smaller blocks have no space for it. */
export const NUMBER_PX = 13;
const NUMBERED_PX = 20;
const CHIP_PX = 24;
/** Below the table, for the lines to its blocks. */
const LINES_PX = 20;

/**
 * @param {number} count
 * @param {number} width
 * @returns {{size: number, numbered: boolean, height: number, at: (place: number) => {x: number, y: number}}}
 */
export function cellsOf(count, width) {
  const columns = count <= FEW ? COLUMNS : MORE_COLUMNS;
  const size = Math.floor((width - GAP_PX * (columns - 1) - 2) / columns);
  const numbered = size >= NUMBERED_PX;
  const row = size + GAP_PX + (numbered ? NUMBER_PX : 0);
  return {
    ...{ size, numbered },
    height: Math.ceil(count / columns) * row + 2,
    at: (place) => ({
      x: 1 + (place % columns) * (size + GAP_PX),
      y: 1 + Math.floor(place / columns) * row,
    }),
  };
}

/**
 * @param {number} most entries of the longest table; all tables get its height, so that nothing moves when another one is selected
 * @param {number} width
 * @returns {{height: number, at: (place: number) => {x: number, y: number, width: number, height: number}}}
 */
export function tableOf(most, width) {
  const size = (width - 2 - GAP_PX * (COLUMNS - 1)) / COLUMNS;
  return {
    height: Math.max(1, Math.ceil(most / COLUMNS)) * (CHIP_PX + GAP_PX) + LINES_PX,
    at: (place) => ({
      ...{ x: 1 + (place % COLUMNS) * (size + GAP_PX), y: 1 + Math.floor(place / COLUMNS) * (CHIP_PX + GAP_PX) },
      ...{ width: size, height: CHIP_PX },
    }),
  };
}
