/** The steps of a run as a row of segments, prefill first. Pure; CSS pixels. */

const PREFILL_SHARE = 0.16;
const PREFILL_MOST_PX = 132;
const STEP_MOST_PX = 62;
const GAP_PX = 2;
/** Segments narrower than this have neither gaps nor outlines. */
const LEAST_PITCH_PX = 5;
/** Segments at least this wide have a number. */
const NUMBERED_PX = 24;
const FONT = `620 12px "Inter Variable", system-ui, sans-serif`;

/**
 * @param {number} count steps of the run, or the most that it may have
 * @param {number} width
 * @returns {{count: number, prefill: number, pitch: number, end: number}} `prefill`: width of the first segment with its gap,
 *   `pitch`: of each other
 */
export function segmentsGeometry(count, width) {
  if (count <= 1)
    return { count: 1, prefill: Math.min(width, PREFILL_MOST_PX), pitch: 0, end: Math.min(width, PREFILL_MOST_PX) };
  const prefill = Math.min(PREFILL_MOST_PX, Math.max(width * PREFILL_SHARE, width / count));
  const pitch = Math.min(STEP_MOST_PX, (width - prefill) / (count - 1));
  return { count, prefill, pitch, end: prefill + pitch * (count - 1) };
}

/** @returns {{x: number, width: number}} */
export function segmentOf({ prefill, pitch }, step) {
  const [x, whole] = step === 0 ? [0, prefill] : [prefill + (step - 1) * pitch, pitch];
  return { x, width: Math.max(1, whole - (pitch >= LEAST_PITCH_PX || step === 0 ? GAP_PX : 0)) };
}

/** @returns {number} the step at x, the first or the last one beyond the ends */
export function stepAt({ count, prefill, pitch }, x) {
  if (x < prefill || pitch === 0) return 0;
  return Math.min(count - 1, 1 + Math.floor((x - prefill) / pitch));
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{step: number, share: number, recorded: number, noted: number[], label: string, own?: number}} data `share`: computed part
 *   of the shown step; `recorded`: steps in the log; `own`: the first step that
 *   this run computed itself
 * @param {{geometry: Object, theme: Object}} scales
 * @param {{width: number, height: number}} size
 */
export function drawSegments(
  context,
  { step, share, recorded, noted, label, own = 0 },
  { geometry, theme },
  { width, height },
) {
  context.clearRect(0, 0, width, height);
  // A step of the run that this one branched from is not computed now.
  const now = step < own ? [theme.cached, theme.onCached] : [theme.computed, theme.onComputed];
  const top = 4;
  const tall = height - 2 * top;
  const box = (x, wide) => {
    context.beginPath();
    context.roundRect(x, top, wide, tall, Math.min(4, wide / 3));
  };
  for (let at = 0; at < geometry.count; at++) {
    const { x, width: wide } = segmentOf(geometry, at);
    if (at < step) {
      box(x, wide);
      context.fillStyle = at === 0 ? theme.cached : theme.output;
      context.fill();
      continue;
    }
    if (at === step && share > 0) {
      [context.fillStyle] = now;
      box(x, Math.max(1, wide * share));
      context.fill();
    }
    if (geometry.pitch < LEAST_PITCH_PX && at > 0 && at !== step) continue;
    box(x + 0.5, Math.max(1, wide - 1));
    context.strokeStyle = at === step ? now[0] : at < recorded ? theme.muted : theme.line;
    context.stroke();
  }
  if (geometry.pitch < LEAST_PITCH_PX && geometry.count > 1)
    drawTrack(context, { step, recorded, theme, geometry, top, tall });
  if (geometry.pitch >= NUMBERED_PX) drawNumbers(context, { step, share, geometry, theme, height, now });
  drawLabel(context, { label, step, share, geometry, theme, height, now });
  context.fillStyle = theme.ink;
  for (const at of noted) {
    const { x, width: wide } = segmentOf(geometry, at);
    context.beginPath();
    context.arc(x + wide / 2, 2, 2, 0, 2 * Math.PI);
    context.fill();
  }
  if (recorded > 0) {
    const { x, width: wide } = segmentOf(geometry, step);
    context.fillRect(Math.min(width - 3, x + wide * share - 1.5), 0, 3, height);
  }
}

/** Draws one outline for all later steps if their segments are too narrow for one each. */
function drawTrack(context, { step, recorded, theme, geometry, top, tall }) {
  const from = segmentOf(geometry, Math.max(1, step + 1)).x;
  const to = segmentOf(geometry, Math.max(0, recorded - 1));
  context.strokeStyle = theme.line;
  if (geometry.end > from) context.strokeRect(from + 0.5, top + 0.5, geometry.end - from - 1, tall - 1);
  context.strokeStyle = theme.muted;
  if (to.x + to.width > from) context.strokeRect(from + 0.5, top + 0.5, to.x + to.width - from - 1, tall - 1);
}

function drawNumbers(context, { step, share, geometry, theme, height, now }) {
  context.font = FONT;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let at = 1; at < geometry.count; at++) {
    const { x, width } = segmentOf(geometry, at);
    const isFull = at < step || (at === step && share > 0.6);
    context.fillStyle = isFull ? (at < step ? theme.onOutput : now[1]) : theme.muted;
    context.fillText(String(at), x + width / 2, height / 2 + 0.5);
  }
}

function drawLabel(context, { label, step, share, geometry, theme, height, now }) {
  context.font = FONT;
  const { width: wide } = segmentOf(geometry, 0);
  if (context.measureText(label).width + 12 > wide) return;
  context.fillStyle = step === 0 && share < 1 ? theme.ink : step === 0 ? now[1] : theme.onCached;
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.fillText(label, wide / 2, height / 2 + 0.5);
}
