/** Rows of each step, a line per step: reused, computed, computed again. Pure except for the canvas context. */

const LEAST_CELL_FOR_GAP_PX = 4;
const MOST_LINE_PX = 16;
const STRIPE_PX = 4;

/**
 * Returns the sizes of cells and lines that fit into the room.
 *
 * @param {{steps: number, positions: number}} count
 * @param {{width: number, height: number}} room
 * @param {number} [most] height of a line at most, in CSS pixels
 * @returns {{cell: number, line: number, height: number}} CSS pixels
 */
export function stairsGeometry({ steps, positions }, { width, height }, most = MOST_LINE_PX) {
  const line = Math.max(1, Math.min(most, Math.floor(height / steps)));
  return { cell: Math.min(most * 1.6, width / positions), line, height: line * steps };
}

/** @returns {number|null} the step under a pixel */
export function stepAt(y, { line }, steps) {
  const step = Math.floor(y / line);
  return step >= 0 && step < steps ? step : null;
}

/**
 * Draws a line of cells for each step.
 *
 * @param {CanvasRenderingContext2D} context in CSS pixels
 * @param {{reused: number, again: number, fresh: number, done: boolean}[]} lines cells of each step, in this order;
 *   `done` false: computed from the run, not executed
 * @param {{theme: Object}} scales
 * @param {Object} geometry of `stairsGeometry`
 */
export function drawStairs(context, lines, { theme }, geometry) {
  const { cell, line, height } = geometry;
  context.clearRect(0, 0, context.canvas.width, height);
  const gap = line >= LEAST_CELL_FOR_GAP_PX ? 1 : 0;
  lines.forEach(({ reused, again, fresh, done }, step) => {
    const y = step * line;
    const span = (from, count, colour, alpha) => {
      context.globalAlpha = done ? alpha : alpha * 0.25;
      context.fillStyle = colour;
      context.fillRect(from * cell, y, count * cell, line - gap);
      return from + count;
    };
    let at = span(0, reused, theme.cached, 0.5);
    const stripes = at;
    at = span(at, again, theme.computed, 0.5);
    if (again) stripe(context, { x0: stripes * cell, x1: at * cell, y0: y, y1: y + line - gap }, theme, done);
    span(at, fresh, theme.computed, 1);
  });
  context.globalAlpha = 1;
  if (cell >= LEAST_CELL_FOR_GAP_PX) cut(context, lines, theme, geometry);
}

/** Diagonal stripes mark rows that an earlier step computed already. */
function stripe(context, { x0, x1, y0, y1 }, theme, done) {
  context.save();
  context.beginPath();
  context.rect(x0, y0, x1 - x0, y1 - y0);
  context.clip();
  context.globalAlpha = done ? 0.9 : 0.35;
  context.strokeStyle = theme.computed;
  context.lineWidth = 1.2;
  context.beginPath();
  const high = y1 - y0;
  for (let x = Math.floor(x0 / STRIPE_PX) * STRIPE_PX - high; x < x1; x += STRIPE_PX) {
    context.moveTo(x, y1);
    context.lineTo(x + high, y0);
  }
  context.stroke();
  context.restore();
}

/** Gaps between the cells of a line. */
function cut(context, lines, theme, { cell, line }) {
  context.fillStyle = theme.bg;
  lines.forEach(({ reused, again, fresh }, step) => {
    for (let at = 1; at <= reused + again + fresh; at++) context.fillRect(at * cell - 1, step * line, 1, line);
  });
}
