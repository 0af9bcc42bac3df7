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
    residual: (layer, position) => run.residualNorm(layer, position),
    q: (layer, head) => run.qNorm(layer, head, firstQuery + rows - 1),
    k: (layer, kvHead, position) => run.kNorm(layer, kvHead, position),
    v: (layer, kvHead, position) => run.vNorm(layer, kvHead, position),
  };
}

/** So many of a long prompt's rows, evenly spread, are enough for a scale. */
const ROWS_FOR_A_SCALE = 128;

/**
 * Scales of the lengths, from the prompt's rows alone, so that they stand still while the run grows.
 *
 * @returns {{residual: {low, high}, q: {low, high}|null, k: {low, high}, v: {low, high}}} `q` is null for a log that
 *   lacks the lengths of Q
 */
export function normRanges(run) {
  const every = Math.ceil(run.steps[0].rows / ROWS_FOR_A_SCALE);
  const rows = Math.ceil(run.steps[0].rows / every);
  const all = (read, inner) => {
    const values = new Float64Array(run.layers * inner * rows);
    let at = 0;
    for (let layer = 0; layer < run.layers; layer++) {
      for (let i = 0; i < inner; i++) for (let row = 0; row < rows; row++) values[at++] = read(layer, i, row * every);
    }
    return values;
  };
  const q = () => robustRange(all((layer, head, position) => run.qNorm(layer, head, position), run.heads));
  return {
    residual: robustRange(all((layer, _, position) => run.residualNorm(layer, position), 1)),
    q: run.qNorm(0, 0, 0) === null ? null : q(),
    k: robustRange(all((layer, head, position) => run.kNorm(layer, head, position), run.kvHeads)),
    v: robustRange(all((layer, head, position) => run.vNorm(layer, head, position), run.kvHeads)),
  };
}
