/** A row of bars, one per value, with a line at one level. Pure. */

import { cellsAt } from "../draw/pixels.js";

const MOST_BAR_PX = 14;

/** @returns {number} pixels from one bar to the next */
export function barPitch(count, width) {
  return Math.min(MOST_BAR_PX, width / count);
}

/** @returns {number|null} index of the bar under x */
export function hitBars(count, width, x) {
  return cellsAt(x, 0, barPitch(count, width) * count, count, count)?.[0] ?? null;
}

/**
 * @param {CanvasRenderingContext2D} context in CSS pixels
 * @param {{values: number[], chosen: number, level: number}} data
 * @param {{theme: Object}} scales
 * @param {{width: number, height: number}} size
 */
export function drawBars(context, { values, chosen, level }, { theme }, { width, height }) {
  context.clearRect(0, 0, width, height);
  const most = Math.max(...values);
  const pitch = barPitch(values.length, width);
  const gap = pitch >= 4 ? 1.5 : 0;
  values.forEach((value, i) => {
    const tall = Math.max(1, (value / most) * height);
    context.fillStyle = i === chosen ? theme.computed : theme.cached;
    context.globalAlpha = i === chosen ? 1 : 0.45;
    context.fillRect(i * pitch, height - tall, Math.max(1, pitch - gap), tall);
  });
  context.globalAlpha = 1;
  const y = Math.round(height - (level / most) * height) + 0.5;
  context.strokeStyle = theme.muted;
  context.setLineDash([3, 2]);
  context.beginPath();
  context.moveTo(0, y);
  context.lineTo(pitch * values.length, y);
  context.stroke();
  context.setLineDash([]);
}
