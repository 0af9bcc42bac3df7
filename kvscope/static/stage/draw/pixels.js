/**
 * A rectangle of device pixels as 32-bit colours (0xAABBGGRR, the byte order of ImageData on little-endian machines),
 * and the function that paints cells on it. Pure, except that it writes to the given pixels.
 */

const GAP_FROM_PX = 4;
const WIDE_GAP_FROM_PX = 16;
/** The smallest cell with space inside its outline. */
const HOLLOW_FROM_PX = 4;

/** @returns {{data: Uint32Array, width: number, height: number}} */
export function pixels(width, height) {
  return { data: new Uint32Array(width * height), width, height };
}

/** Fills [x0, x1) × [y0, y1), in whole device pixels, clipped to the rectangle. */
export function fill(target, x0, y0, x1, y1, colour) {
  const left = Math.max(0, x0);
  const right = Math.min(target.width, x1);
  const bottom = Math.min(target.height, y1);
  for (let y = Math.max(0, y0); y < bottom; y++)
    target.data.fill(colour, y * target.width + left, y * target.width + right);
}

/** Returns the gap after a cell of this size in device pixels: none if the cell is too small. */
export function gapFor(size) {
  if (size < GAP_FROM_PX) return 0;
  return size < WIDE_GAP_FROM_PX ? 1 : 2;
}

/**
 * Paints a line of equal cells in [x0, x1) × [y0, y1).
 *
 * Cells narrower than a pixel are combined by their largest shade, so that a single strong cell stays visible.
 *
 * @param {Object} lane
 * @param {number} lane.capacity how many cells fit on the line
 * @param {Uint8Array} lane.shades of the existing cells, in order (index into `colours`)
 * @param {Uint32Array} lane.colours 256 colours
 * @param {number} [lane.group] cells per group: a gap only after each group
 * @param {number} [lane.from] first cell to paint
 * @param {Function} [lane.gather] as `gatherOnce()` gives it, for cells whose first entries do not change
 */
export function paintLane(
  target,
  { x0, x1, y0, y1, capacity, shades, colours, group = 1, from = 0, gather = largestAt },
) {
  const width = (x1 - x0) / capacity;
  const top = Math.max(0, y0);
  const bottom = Math.min(target.height, y1);
  if (bottom <= top) return;
  const line = target.data.subarray(top * target.width, (top + 1) * target.width);
  const lane = { x0, x1, width, shades, colours, group, from, gather };
  const [left, right] = width >= 1 ? paintWide(line, lane) : paintGathered(line, lane);
  repeatLine(target, left, right, top, bottom);
}

/**
 * Paints the first cells of a line as empty outlines, because their values were not stored. If they are too narrow, paints one outline for all.
 *
 * `count` cells of a lane as in `paintLane`.
 */
export function paintHollow(target, { x0, x1, y0, y1, capacity }, count, colour) {
  const width = (x1 - x0) / capacity;
  const [cells, pitch] = width >= HOLLOW_FROM_PX ? [count, width] : [Math.min(1, count), width * count];
  const gap = pitch >= 2 * GAP_FROM_PX ? 1 : 0;
  fill(target, x0, y0, Math.round(x0 + cells * pitch), y1, 0);
  for (let cell = 0; cell < cells; cell++) {
    const left = Math.round(x0 + cell * pitch);
    const right = Math.round(x0 + (cell + 1) * pitch) - gap;
    fill(target, left, y0, right, y0 + 1, colour);
    fill(target, left, y1 - 1, right, y1, colour);
    fill(target, left, y0, left + 1, y1, colour);
    fill(target, right - 1, y0, right, y1, colour);
  }
}

/** Copies the row of pixels at y0 in [x0, x1) to the rows below it, up to y1; clipped to the rectangle. */
export function repeatLine(target, x0, x1, y0, y1) {
  const start = y0 * target.width + Math.max(0, x0);
  const end = y0 * target.width + Math.min(target.width, x1);
  const bottom = Math.min(target.height, y1);
  for (let y = y0 + 1; y < bottom && start < end; y++)
    target.data.copyWithin(start + (y - y0) * target.width, start, end);
}

/** Paints one row of pixels of cells at least a pixel wide. @returns {[number, number]} the pixels from, to */
function paintWide(line, { x0, width, shades, colours, group, from }) {
  const inner = width >= 2 * GAP_FROM_PX ? 1 : 0;
  const outer = Math.max(gapFor(width * group), inner);
  for (let cell = from; cell < shades.length; cell++) {
    const gap = (cell + 1) % group === 0 ? outer : inner;
    const left = Math.round(x0 + cell * width);
    const right = Math.max(left + 1, Math.round(x0 + (cell + 1) * width) - gap);
    line.fill(colours[shades[cell]], Math.max(0, left), Math.max(0, right));
  }
  return [
    Math.round(x0 + from * width),
    Math.max(Math.round(x0 + shades.length * width), Math.round(x0 + (shades.length - 1) * width) + 1),
  ];
}

/** Paints one row of pixels of cells narrower than a pixel. @returns {[number, number]} the pixels from, to */
function paintGathered(line, lane) {
  const { x0, x1, width, shades, colours, from, gather } = lane;
  const start = Math.floor(x0 + from * width);
  const end = Math.min(x1, Math.ceil(x0 + shades.length * width));
  const right = Math.min(end, line.length);
  for (let x = Math.max(0, start); x < right; x++) line[x] = colours[gather(x, lane)];
  return [start, end];
}

/** Returns the largest shade of the cells under a pixel. */
function largestAt(x, { x0, width, shades, from }) {
  const first = Math.max(from, Math.floor((x - x0) / width));
  const last = Math.min(shades.length, Math.max(first + 1, Math.ceil((x + 1 - x0) / width)));
  let shade = 0;
  for (let cell = first; cell < last; cell++) if (shades[cell] > shade) shade = shades[cell];
  return shade;
}

/**
 * Caches the combined shade of each pixel for cells that do not change while others are added after them.
 *
 * @returns {(x: number, lane: Object) => number} for `paintLane`, always for the same cells, in a growing number
 */
export function gatherOnce() {
  const NEVER = -1;
  let [left, pitch, known] = [0, 0, new Int16Array(0)];
  return (x, lane) => {
    const { x0, x1, width, shades } = lane;
    if (x0 !== left || width !== pitch)
      [left, pitch, known] = [x0, width, new Int16Array(Math.ceil(x1 - x0)).fill(NEVER)];
    const isFull = x0 + shades.length * width >= x + 1;
    if (!isFull) return largestAt(x, lane);
    if (known[x - x0] === NEVER) known[x - x0] = largestAt(x, lane);
    return known[x - x0];
  };
}

/** Returns the cells under one pixel of such a line: [first, last], both inclusive, or null past the last cell. */
export function cellsAt(x, x0, x1, capacity, count) {
  if (x < x0 || x >= x1) return null;
  const width = (x1 - x0) / capacity;
  const first = Math.floor((x - x0) / width);
  if (first >= count) return null;
  const reach = width >= 1 ? first : Math.ceil((x + 1 - x0) / width) - 1;
  return [first, Math.min(count - 1, Math.max(first, reach))];
}
