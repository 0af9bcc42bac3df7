/**
 * Draws the picture of a card: a head's attention up to one row; a bar for each sampled token, beside the likeliest one; or a lane for
 * each request of a workload. Pure except for the canvas.
 */

const GAP = 1;
const MARK_PX = 1.5;
const LEAST_BAR_PX = 1.5;
const OUTLINE_PX = 1;
const BAR_GAP = 0.28;

/**
 * @param {CanvasRenderingContext2D} context in CSS pixels
 * @param {Uint8Array[]} rows companded weights by query; the last row is marked
 * @param {{key: number, theme: Object, side: number}} how `side`: length of the square, in CSS pixels
 */
export function drawTriangle(context, rows, { key, theme, side }) {
  const cell = side / rows.length;
  const inner = cell >= 5 ? cell - GAP : cell;
  context.clearRect(0, 0, side, side);
  const last = rows.length - 1;
  rows.forEach((row, query) =>
    row.forEach((shade, at) => {
      context.fillStyle = (query === last ? theme.attentionNow : theme.attention).css[shade];
      context.fillRect(at * cell, query * cell, inner, inner);
    }),
  );
  context.strokeStyle = theme.ink;
  context.lineWidth = MARK_PX;
  const top = last * cell;
  context.strokeRect(
    key * cell + MARK_PX / 2,
    top + MARK_PX / 2,
    Math.max(4, inner) - MARK_PX,
    Math.max(4, inner) - MARK_PX,
  );
}

/**
 * @param {CanvasRenderingContext2D} context in CSS pixels
 * @param {{shares: number[], most: number[]}} chances probabilities 0…1: of each sampled token, and of the likeliest token at its step
 * @param {{theme: Object, side: number}} how
 */
export function drawBars(context, { shares, most }, { theme, side }) {
  const width = side / shares.length;
  context.clearRect(0, 0, side, side);
  context.fillStyle = theme.line;
  context.fillRect(0, side - 1, side, 1);
  context.fillStyle = theme.output;
  context.strokeStyle = theme.muted;
  context.lineWidth = OUTLINE_PX;
  shares.forEach((share, at) => {
    const [left, wide] = [(at + BAR_GAP / 2) * width, width * (1 - BAR_GAP)];
    const height = Math.max(LEAST_BAR_PX, share * (side - 1));
    context.fillRect(left, side - height, wide, height);
    // Half of a line's width is outside its path.
    const top = most[at] * (side - 1) - OUTLINE_PX;
    if (share < most[at])
      context.strokeRect(left + OUTLINE_PX / 2, side - top - OUTLINE_PX / 2, wide - OUTLINE_PX, top);
  });
}

/** Shares of a lane's space: its thickness, and that of a wait. */
const LANE = 0.62;
const WAIT_PX = 2;
const WORD_PX = 1.5;

/**
 * @param {CanvasRenderingContext2D} context in CSS pixels
 * @param {{ends: number, lanes: {arrives: number, ends: number, reads: number[][], words: number[]}[]}} served in ms
 * @param {{theme: Object, side: number}} how
 */
export function drawLanes(context, { ends, lanes }, { theme, side }) {
  const height = side / lanes.length;
  const x = (ms) => (ms / ends) * side;
  context.clearRect(0, 0, side, side);
  lanes.forEach(({ arrives, ends: until, reads, words }, at) => {
    const middle = (at + 0.5) * height;
    const [top, thick] = [middle - (LANE * height) / 2, LANE * height];
    context.fillStyle = theme.muted;
    context.fillRect(x(arrives), middle - WAIT_PX / 2, x(until) - x(arrives), WAIT_PX);
    context.fillStyle = theme.computed;
    for (const [from, to] of reads) context.fillRect(x(from), top, Math.max(WORD_PX, x(to) - x(from)), thick);
    context.fillStyle = theme.output;
    for (const ms of words) context.fillRect(x(ms) - WORD_PX, top, WORD_PX, thick);
  });
}
