/** A row of bars, one per step: prefill is wide, decode steps are narrow, the newest is amber. Pure; CSS pixels. */

const MOST_BAR_PX = 26;
const PREFILL_PX = 66;
const PREFILL_SHARE = 0.3;
const LEAST_GAPPED_PX = 4;
const FONT = `620 12px "Inter Variable", system-ui, sans-serif`;

/** @returns {{prefill: number, pitch: number}} widths of the first bar and of each other, with their gaps */
export function barWidths(count, width) {
  const prefill = Math.min(PREFILL_PX, count > 1 ? width * PREFILL_SHARE : width);
  return { prefill, pitch: count > 1 ? Math.min(MOST_BAR_PX, (width - prefill) / (count - 1)) : 0 };
}

/** @returns {number|null} index of the bar under x */
export function hitBars(count, width, x) {
  const { prefill, pitch } = barWidths(count, width);
  if (x < 0) return null;
  if (x < prefill) return 0;
  const bar = pitch > 0 ? 1 + Math.floor((x - prefill) / pitch) : count;
  return bar < count ? bar : null;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{values: number[], label: string}} data milliseconds of every step; the text on the first bar
 * @param {{theme: Object}} scales
 * @param {{width: number, height: number}} size
 */
export function drawBars(context, { values, label }, { theme }, { width, height }) {
  context.clearRect(0, 0, width, height);
  const most = Math.max(...values);
  const { prefill, pitch } = barWidths(values.length, width);
  const gap = pitch >= LEAST_GAPPED_PX || values.length === 1 ? 2 : 0;
  values.forEach((value, i) => {
    const tall = Math.max(1, (value / most) * height);
    const [x, wide] = i === 0 ? [0, prefill] : [prefill + (i - 1) * pitch, pitch];
    context.fillStyle = i === values.length - 1 ? theme.computed : i === 0 ? theme.cached : theme.output;
    context.fillRect(x, height - tall, Math.max(1, wide - gap), tall);
  });
  context.font = FONT;
  if (context.measureText(label).width + 8 > prefill) return;
  const tall = (values[0] / most) * height;
  const inside = tall >= 18;
  context.fillStyle = inside ? (values.length === 1 ? theme.onComputed : theme.onCached) : theme.muted;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.fillText(label, (prefill - gap) / 2, inside ? height - tall + 4 : height - tall - 15);
}
