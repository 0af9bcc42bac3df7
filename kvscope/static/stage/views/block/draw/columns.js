/**
 * The positions that have a column in the drawing of a block, and where it is in a lane. All lanes share one set of columns:
 * a score is above its K, and a weight above its V. Pure.
 */

/** A narrower column is hard to see and to point at. */
const LEAST_COLUMN_PX = 3;
const MOST_COLUMN_PX = 44;
/** Room for the mark of omitted positions. */
const GAP_PX = 12;

/**
 * Chooses the positions that have a column: all from `first` on, if they fit. Otherwise the row's own position, as many as fit
 * around a centre, and position 0, which often has the largest weight, unless the row cannot read it.
 *
 * @param {Object} parts
 * @param {number} [parts.first] the first position that the row reads
 * @param {number} parts.count positions 0 … count - 1
 * @param {number} parts.own position of the drawn row
 * @param {number} parts.centre position the window is around
 * @param {number} parts.width of a lane, CSS pixels
 * @returns {{runs: [number, number][], pitch: number, width: number, count: number, window: [number, number]|null}}
 *   `runs`: positions shown, first and last of each stretch; `width`: what they take of the lane; `window`: the stretch
 *   that can be moved, null when every position is shown
 */
export function keyColumns({ first = 0, count, own, centre, width }) {
  const fit = Math.floor(width / LEAST_COLUMN_PX);
  const all = count - first;
  if (all <= fit) {
    const pitch = Math.min(MOST_COLUMN_PX, width / all);
    return { runs: [[first, count - 1]], pitch, width: pitch * all, count, window: null };
  }
  const pinned = first === 0 && own !== 0 ? [0, own] : [own];
  const size = Math.max(1, Math.floor((width - pinned.length * GAP_PX) / LEAST_COLUMN_PX) - pinned.length);
  const from = Math.min(Math.max(first, centre - Math.floor(size / 2)), count - size);
  /** @type {[number, number]} */
  const window = [from, from + size - 1];
  const runs = joined([window, ...pinned.map((position) => [position, position])]);
  const pitch = (width - (runs.length - 1) * GAP_PX) / columnCount({ runs });
  return { runs, pitch, width, count, window };
}

function joined(runs) {
  const result = [];
  for (const [from, to] of runs.toSorted((a, b) => a[0] - b[0])) {
    const last = result.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else result.push([from, to]);
  }
  return result;
}

/** @returns {number} the number of positions with a column */
export function columnCount({ runs }) {
  return runs.reduce((total, [from, to]) => total + to - from + 1, 0);
}

/** @returns {{position: number, x0: number, x1: number}[]} the columns, from the lane's left edge */
export function placedColumns({ runs, pitch }) {
  const columns = [];
  let x = 0;
  runs.forEach(([from, to], index) => {
    if (index) x += GAP_PX;
    for (let position = from; position <= to; position++, x += pitch) columns.push({ position, x0: x, x1: x + pitch });
  });
  return columns;
}

/** @returns {{x: number, from: number, to: number}[]} marks between columns where positions `from` … `to` are omitted */
export function columnGaps({ runs, pitch }) {
  let x = 0;
  return runs.slice(0, -1).map(([from, to], index) => {
    x += (to - from + 1) * pitch + GAP_PX;
    return { x: x - GAP_PX / 2, from: to + 1, to: runs[index + 1][0] - 1 };
  });
}

/** @returns {{x0: number, x1: number}|null} a position's column, null if it is not shown */
export function columnAt({ runs, pitch }, position) {
  let x = 0;
  for (const [from, to] of runs) {
    if (position >= from && position <= to) {
      const x0 = x + (position - from) * pitch;
      return { x0, x1: x0 + pitch };
    }
    x += (to - from + 1) * pitch + GAP_PX;
  }
  return null;
}

/** @returns {number|null} the position whose column is `x` from the lane's left edge */
export function positionAt({ runs, pitch }, x) {
  let left = 0;
  for (const [from, to] of runs) {
    const right = left + (to - from + 1) * pitch;
    if (x < left) return null;
    if (x < right) return Math.min(to, from + Math.floor((x - left) / pitch));
    left = right + GAP_PX;
  }
  return null;
}
