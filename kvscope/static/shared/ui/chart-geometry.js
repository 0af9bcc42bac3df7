/** Positions of the parts of a small chart. Pure: values and scales in, pixels out. */

/** The width of a bar as a share of the distance between two, and at most. */
const BAR_SHARE = 0.78;
const MOST_BAR_PX = 34;

/**
 * @param {{points: {x: number, y: number}[], kind: string}[]} series
 * @param {number} [cap] values above it do not stretch the axis
 * @returns {{x: [number, number], y: [number, number]}} ends of the axes: y from zero, x with space for half a bar
 */
export function domains(series, cap = Infinity) {
  const points = series.flatMap((each) => each.points);
  const xs = points.map(({ x }) => x);
  const half = series.some(({ kind }) => kind === "bar") ? 0.5 : 0;
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  const spread = low === high && !half ? 0.5 : half;
  return { x: [low - spread, high + spread], y: [0, Math.min(cap, Math.max(...points.map(({ y }) => y))) || 1] };
}

/** @returns {string} an SVG path through the points */
export function linePath(points, { x, y }) {
  return points.map((point, i) => `${i ? "L" : "M"}${round(x(point.x))},${round(y(point.y))}`).join("");
}

/** @returns {string} an SVG path that keeps each value until the next */
export function stepPath(points, { x, y }) {
  return points
    .map((point, i) =>
      i ? `H${round(x(point.x))}V${round(y(point.y))}` : `M${round(x(point.x))},${round(y(point.y))}`,
    )
    .join("");
}

/** @returns {{x: number, y: number, width: number, height: number}[]} one box per point, from zero */
export function barBoxes(points, { x, y }) {
  const width = Math.max(1, Math.min(MOST_BAR_PX, (x(1) - x(0)) * BAR_SHARE));
  const base = y(0);
  return points.map((point) => {
    const top = Math.min(y(point.y), base - 1);
    return { x: x(point.x) - width / 2, y: top, width, height: base - top };
  });
}

/**
 * Separates overlapping labels with the smallest possible moves.
 *
 * @param {number[]} wanted position of each
 * @param {{low: number, high: number, least: number}} room
 * @returns {number[]} the position of each, in the given order
 */
export function spread(wanted, { low, high, least }) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
  const placed = order.map((i) => Math.min(Math.max(wanted[i], low), high));
  for (let i = 1; i < placed.length; i++) placed[i] = Math.max(placed[i], placed[i - 1] + least);
  let ceiling = high;
  for (let i = placed.length - 1; i >= 0; i--) {
    placed[i] = Math.min(placed[i], ceiling);
    ceiling = placed[i] - least;
  }
  const result = [];
  order.forEach((original, i) => {
    result[original] = placed[i];
  });
  return result;
}

/** @returns {number|null} the value of `xs` nearest to a pixel */
export function nearestX(xs, x, pixel) {
  let best = null;
  for (const value of xs) if (best === null || Math.abs(x(value) - pixel) < Math.abs(x(best) - pixel)) best = value;
  return best;
}

function round(pixel) {
  return Math.round(pixel * 10) / 10;
}
