/** The differences between two steps: attention, lengths of rows, cache and time. Pure. */

import { disturbance } from "../facts/conditions.js";
import { firstOwnStep, isInherited, stepRows } from "../facts/step-rows.js";
import { weightOf } from "../log/companding.js";

/** @typedef {{run: import("../log/run.js").Run, step: number}} Side */

/** @returns {boolean} whether layer l and head h of one are at the same place as those of the other */
export function sameShape({ run: a }, { run: b }) {
  return a.layers === b.layers && a.heads === b.heads && a.kvHeads === b.kvHeads;
}

/**
 * Returns the share of a head's attention in the newest row that is on other columns in the other run: half the sum of |difference|,
 * 0 (the same) to 1. Two tokens in one column count as the same place.
 *
 * @param {import("./alignment.js").Column[]} columns
 * @param {Side} a
 * @param {Side} b
 * @returns {number|null} null if a log lacks the row
 */
export function attentionMoved(columns, a, b, layer, head) {
  const rows = [a, b].map(({ run, step }) => run.row(layer, head, run.lastQueryOfStep(step)));
  if (!rows[0] || !rows[1]) return null;
  let sum = 0;
  for (const column of columns) {
    const difference = weightAt(rows[0], column.a) - weightAt(rows[1], column.b);
    sum += Math.abs(difference);
  }
  return Math.min(1, sum / 2);
}

const weightAt = (row, key) => (key === null || key >= row.length ? 0 : weightOf(row[key]));

/**
 * Returns both rows of attention of a head, column by column.
 *
 * @returns {{column: number, a: number|null, b: number|null}[]} weights; null for a key that the run lacks; empty if a log lacks
 *   the row
 */
export function attentionRows(columns, a, b, layer, head) {
  const rows = [a, b].map(({ run, step }) => run.row(layer, head, run.lastQueryOfStep(step)));
  if (!rows[0] || !rows[1]) return [];
  const weight = (row, key) => (key === null || key >= row.length ? null : weightOf(row[key]));
  return columns
    .map((each, column) => ({ column, a: weight(rows[0], each.a), b: weight(rows[1], each.b) }))
    .filter((each) => each.a !== null || each.b !== null);
}

/** The maps: one value per layer and head, KV head or row. Lengths are compared as ln(b ÷ a). */
export const MAPS = ["attention", "residual", "k", "v"];

const LENGTHS = {
  residual: { width: () => 1, of: (run, layer, _at, query) => run.residualNorm(layer, query) },
  k: { width: (run) => run.kvHeads, of: (run, layer, at, query) => run.kNorm(layer, at, query) },
  v: { width: (run) => run.kvHeads, of: (run, layer, at, query) => run.vNorm(layer, at, query) },
};

/** @returns {{a: number|null, b: number|null}} lengths of the newest rows; null if a log has no such row */
export function lengthsOf(map, a, b, layer, at) {
  const [of, ...sides] = [LENGTHS[map].of, a, b];
  const [first, second] = sides.map(({ run, step }) => of(run, layer, at, run.lastQueryOfStep(step)));
  return { a: first, b: second };
}

/**
 * @param {string} map of MAPS
 * @returns {{layers: number, width: number, values: (number|null)[], any: boolean}} by layer, then by head: the share of attention moved,
 *   or ln(b ÷ a) of a length; `any`: whether there is a value
 */
export function mapOf(map, columns, a, b) {
  const { run } = a;
  const width = map === "attention" ? run.heads : LENGTHS[map].width(run);
  const value = (layer, at) => {
    if (map === "attention") return attentionMoved(columns, a, b, layer, at);
    const lengths = lengthsOf(map, a, b, layer, at);
    return lengths.a > 0 && lengths.b > 0 ? Math.log(lengths.b / lengths.a) : null;
  };
  const values = Array.from({ length: run.layers * width }, (_, i) => value(Math.floor(i / width), i % width));
  return { layers: run.layers, width, values, any: values.some((each) => each !== null) };
}

/**
 * @param {{values: (number|null)[], width: number}} map of `mapOf`
 * @returns {{layer: number, at: number, value: number}|null} the largest difference
 */
/** The largest error of a weight in a log (docs/frames.md, companding). */
export const ROUNDING = 0.004;

/** @returns {number|null} the lowest layer where attention moved by more than the rounding of a log; null: none */
export function firstLayerOf({ values, width }) {
  const at = values.findIndex((value) => value !== null && Math.abs(value) > ROUNDING);
  return at < 0 ? null : Math.floor(at / width);
}

export function largestOf({ values, width }) {
  let best = null;
  values.forEach((value, i) => {
    if (value !== null && (best === null || Math.abs(value) > Math.abs(best.value)))
      best = { layer: Math.floor(i / width), at: i % width, value };
  });
  return best;
}

/**
 * Returns bytes and times of a step.
 *
 * @param {Side} side
 * @returns {{used: number, reserved: number, written: number, rows: number, forward: number|null, total: number|null, disturbed: string|null}}
 *   `disturbed`: what disturbed its times, null if nothing did
 */
export function accountOf({ run, step }) {
  const { data } = run.steps[step];
  const { bytes_used: used = null, bytes_reserved: reserved = null, bytes_written: written = null } = data.kv ?? {};
  // A branch neither computed nor timed the steps of the run before it.
  if (isInherited(run, step))
    return { used, reserved, written: 0, rows: 0, forward: null, total: null, disturbed: null };
  const { forward = null, total = null } = data.ms ?? {};
  const { computed } = stepRows(run, step);
  return { used, reserved, written, rows: computed, forward, total, disturbed: disturbance(data) };
}

/** @returns {import("../log/run.js").Run["steps"]} the decode steps that a run computed and timed itself */
export function decodeSteps(run) {
  return run.steps.slice(Math.max(1, firstOwnStep(run)));
}

/**
 * Summarizes the times of a run’s own decode steps.
 *
 * @returns {{steps: number, median: number|null, disturbed: number}} `median`: of undisturbed steps, in ms; null without one
 */
export function decodeTimes(run) {
  const decode = decodeSteps(run)
    .map(({ data }) => data)
    .filter(({ ms }) => ms);
  const quiet = decode.filter((data) => disturbance(data) === null).map(({ ms }) => ms.total);
  quiet.sort((x, y) => x - y);
  return {
    steps: decode.length,
    median: quiet.length ? quiet[Math.floor(quiet.length / 2)] : null,
    disturbed: decode.length - quiet.length,
  };
}
