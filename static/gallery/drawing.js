/** The picture of a card: a head's attention up to one row, or a bar for each token drawn. Pure but for the canvas handed in. */

const GAP = 1;
const MARK_PX = 1.5;
const LEAST_BAR_PX = 1.5;
const BAR_GAP = 0.28;

/**
 * @param {CanvasRenderingContext2D} context in CSS pixels
 * @param {Uint8Array[]} rows companded weights by query, the last one is marked
 * @param {{key: number, theme: Object, side: number}} how `side`: of the square, in CSS pixels
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
 * @param {number[]} shares 0…1, in the order in which they were drawn
 * @param {{theme: Object, side: number}} how
 */
export function drawBars(context, shares, { theme, side }) {
  const width = side / shares.length;
  context.clearRect(0, 0, side, side);
  context.fillStyle = theme.line;
  context.fillRect(0, side - 1, side, 1);
  context.fillStyle = theme.output;
  shares.forEach((share, at) => {
    const height = Math.max(LEAST_BAR_PX, share * (side - 1));
    context.fillRect((at + BAR_GAP / 2) * width, side - height, width * (1 - BAR_GAP), height);
  });
}
