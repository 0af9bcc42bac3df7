/** A row of bars, one per step: prefill is wide, decode steps are narrow, the newest is amber. Pure; CSS pixels. */

const MOST_BAR_PX = 26;
const PREFILL_PX = 66;
const PREFILL_SHARE = 0.3;
const LEAST_GAPPED_PX = 4;
const FONT = `620 12px "Inter Variable", system-ui, sans-serif`;

/** @returns {{prefill: number, pitch: number}} widths of the first bar and of each other, with their gaps; `begins`: the first is prefill */
export function barWidths(count, width, begins = true) {
  if (!begins) {
    const pitch = Math.min(MOST_BAR_PX, width / count);
    return { prefill: pitch, pitch };
  }
  const prefill = Math.min(PREFILL_PX, count > 1 ? width * PREFILL_SHARE : width);
  return { prefill, pitch: count > 1 ? Math.min(MOST_BAR_PX, (width - prefill) / (count - 1)) : 0 };
}

/** @returns {number|null} index of the bar under x */
export function hitBars(count, width, x, begins = true) {
  const { prefill, pitch } = barWidths(count, width, begins);
  if (x < 0) return null;
  if (x < prefill) return 0;
  const bar = pitch > 0 ? 1 + Math.floor((x - prefill) / pitch) : count;
  return bar < count ? bar : null;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{values: number[], label: string|null, inherited: boolean}} data milliseconds of every step; the text on the bar of prefill, null if
 *   it is not among them; `inherited`: another run computed them
 * @param {{theme: Object}} scales
 * @param {{width: number, height: number}} size
 */
export function drawBars(context, { values, label, inherited }, { theme }, { width, height }) {
  context.clearRect(0, 0, width, height);
  const most = Math.max(...values);
  const { prefill, pitch } = barWidths(values.length, width, label !== null);
  const now = inherited ? [theme.cached, theme.onCached] : [theme.computed, theme.onComputed];
  const gap = pitch >= LEAST_GAPPED_PX || values.length === 1 ? 2 : 0;
  values.forEach((value, i) => {
    const tall = Math.max(1, (value / most) * height);
    const [x, wide] = i === 0 ? [0, prefill] : [prefill + (i - 1) * pitch, pitch];
    context.fillStyle = i === values.length - 1 ? now[0] : i === 0 && label !== null ? theme.cached : theme.output;
    context.fillRect(x, height - tall, Math.max(1, wide - gap), tall);
  });
  if (label === null) return;
  context.font = FONT;
  if (context.measureText(label).width + 8 > prefill) return;
  const tall = (values[0] / most) * height;
  const inside = tall >= 18;
  context.fillStyle = inside ? (values.length === 1 ? now[1] : theme.onCached) : theme.muted;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.fillText(label, (prefill - gap) / 2, inside ? height - tall + 4 : height - tall - 15);
}
