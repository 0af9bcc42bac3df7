/** The speed that this machine's measured memory bandwidth and peak allow, and a run's two phases under it. Pure. */

import { disturbance } from "../../../shared/facts/conditions.js";
import { percent, short, significant } from "../../../shared/facts/format.js";
import { attainable } from "../../../shared/sizes/speed.js";
import { msg } from "../../../shared/words/msg.js";

/** How far the axes go beyond the points and the ridge, as a factor. */
const MARGIN = 3;

/**
 * Computes the roofline (Williams, Waterman and Patterson, CACM 52(4), 2009).
 *
 * @param {number} intensity in FLOP per byte
 * @param {Object} measured as `/api/measure` has it
 * @returns {number} FLOP/s
 */
export function roofAt(intensity, { bandwidth, peak }) {
  return attainable(intensity, { bandwidth: bandwidth.per_second, flops: peak.per_second }).value;
}

/**
 * @param {{prefill: Object|null, decode: Object|null}} phases of `phaseFacts`
 * @param {Object} measured as `/api/measure` has it
 * @returns {{x: [number, number], y: [number, number], ridge: number, line: [number, number][],
 *   points: {phase: "prefill"|"decode", x: number, y: number, disturbed: boolean}[]}} x in FLOP per byte, y in FLOP/s; `x`, `y`: ends of the axes;
 *   `line`: the corners of the roof; `ridge`: the intensity from which on the peak limits
 */
export function roofline({ prefill, decode }, measured) {
  const phases = Object.entries({ prefill, decode }).filter(([, facts]) => facts);
  const points = phases.map(([phase, { intensity: x, flopsPerSecond: y, disturbed }]) => ({
    phase: /** @type {"prefill"|"decode"} */ (phase),
    ...{ x, y, disturbed },
  }));
  const ridge = measured.peak.per_second / measured.bandwidth.per_second;
  const xs = [ridge, ...points.map((point) => point.x)];
  const x = /** @type {[number, number]} */ ([Math.min(...xs) / MARGIN, Math.max(...xs) * MARGIN]);
  const ys = [roofAt(x[0], measured), measured.peak.per_second, ...points.map((point) => point.y)];
  const y = /** @type {[number, number]} */ ([Math.min(...ys) / MARGIN, Math.max(...ys) * MARGIN]);
  const line = [x[0], ridge, x[1]].map((at) => /** @type {[number, number]} */ ([at, roofAt(at, measured)]));
  return { x, y, ridge, line, points };
}

/** @returns {boolean} whether other work disturbed the measurement */
export const isMeasuredBusy = ({ bandwidth, peak }) => [bandwidth, peak].some((each) => disturbance(each) !== null);

/** @returns {string[]} for each point, what the roof allows there and what the run reached */
export function roofTexts({ points, ridge }, measured) {
  const busy = isMeasuredBusy(measured);
  return points.map(({ phase, x, y, disturbed }) => {
    const roof = roofAt(x, measured);
    const [intensity, reached, allowed] = [significant(x), short(y, "FLOP/s"), short(roof, "FLOP/s")];
    const name = phase === "prefill" ? msg`Prefill` : msg`Decode`;
    const limit =
      x < ridge
        ? msg`${name}, ${intensity} FLOP per byte: the measured bandwidth allows ${allowed}.`
        : msg`${name}, ${intensity} FLOP per byte: the measured peak allows ${allowed}.`;
    if (disturbed) return `${limit} ${msg`Its time was disturbed, so it is not compared.`}`;
    if (busy) return `${limit} ${msg`That measurement was disturbed, so the two are not compared.`}`;
    const share = percent(y / roof, 0);
    return `${limit} ${y > roof ? msg`It reached ${reached}, ${share} of that: more than in the measurement.` : msg`It reached ${reached}, ${share} of that.`}`;
  });
}
