/**
 * What the map shows of one step of a run. Pure: reads the run, changes nothing.
 */

import { robustRange } from "../draw/scales.js";

/**
 * How many columns the map has room for: 1, 2, 3, 4, 6, 8, 12, 16, … blocks of the paged cache. So the layout stands
 * still from one step to the next but for a few times in a run, and is the same live and in replay.
 *
 * @param {number} positions in sight
 * @param {number} blockSize positions per block
 */
export function columnsFor(positions, blockSize) {
  let [blocks, next] = [1, 2];
  while (blocks * blockSize < positions) [blocks, next] = [next, next === 2 ? 3 : blocks * 2];
  return blocks * blockSize;
}

/**
 * @param {Object} run
 * @param {number} step index of a complete step
 * @returns {Object} shape, and readers of the step's values
 */
export function mapView(run, step) {
  const { data, firstQuery, rows } = run.steps[step];
  return {
    layers: run.layers,
    heads: run.heads,
    kvHeads: run.kvHeads,
    columns: columnsFor(firstQuery + rows, run.open.block_size),
    positions: firstQuery + rows,
    firstQuery,
    prefill: data.phase === "prefill",
    reserved: data.kv.blocks * run.open.block_size,
    row: (layer, head, query) => run.row(layer, head, query),
    q: (layer, head) => run.qNorm(layer, head, firstQuery + rows - 1),
  };
}

/** So many of a long prompt's rows, evenly spread, are enough for a scale. */
const ROWS_FOR_A_SCALE = 16;

/**
 * Scales of the lengths, from the prompt's rows alone, so that they stand still while the run grows.
 *
 * @returns {{residual: {low, high}, q: {low, high}|null, k: {low, high}, v: {low, high}}} `q` is null for a log that
 *   lacks the lengths of Q
 */
export function normRanges(run) {
  const ofHeads = (read, heads) => robustRange(promptValues(run, heads, read));
  return {
    residual: residualRange(run),
    q: run.qNorm(0, 0, 0) === null ? null : ofHeads((layer, head, row) => run.qNorm(layer, head, row), run.heads),
    k: ofHeads((layer, head, row) => run.kNorm(layer, head, row), run.kvHeads),
    v: ofHeads((layer, head, row) => run.vNorm(layer, head, row), run.kvHeads),
  };
}

/** @returns {{low, high}} scale of the residual rows' lengths, as in `normRanges` */
export function residualRange(run) {
  return robustRange(promptValues(run, 1, (layer, _, position) => run.residualNorm(layer, position)));
}

function promptValues(run, heads, read) {
  const every = Math.ceil(run.steps[0].rows / ROWS_FOR_A_SCALE);
  const rows = Math.ceil(run.steps[0].rows / every);
  const values = new Float64Array(run.layers * heads * rows);
  let at = 0;
  for (let layer = 0; layer < run.layers; layer++) {
    for (let head = 0; head < heads; head++) for (let row = 0; row < rows; row++) values[at++] = read(layer, head, row * every);
  }
  return values;
}
