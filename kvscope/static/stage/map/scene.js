/**
 * The map's data of one step of a run. Pure: reads the run and changes nothing.
 */

import { robustRange } from "../../shared/draw/scales.js";
import { isInherited, stepRows } from "../../shared/facts/step-rows.js";
import { blockSizeOf } from "../../shared/log/model.js";

/**
 * Returns the number of columns on the map: 1, 2, 3, 4, 6, 8, 12, 16, … blocks of the paged cache. So the layout changes
 * only a few times in a run, and is the same live and in replay.
 *
 * @param {number} positions shown
 * @param {number} blockSize positions per block
 */
export function columnsFor(positions, blockSize) {
  let [blocks, next] = [1, 2];
  while (blocks * blockSize < positions) [blocks, next] = [next, next === 2 ? 3 : blocks * 2];
  return blocks * blockSize;
}

/** @returns {Object} the known part of the first step's `mapView` before that step is complete; without readers */
export function waitingView(run) {
  return {
    layers: run.layers,
    heads: run.heads,
    kvHeads: run.kvHeads,
    columns: columnsFor(run.promptLength, blockSizeOf(run)),
    positions: run.promptLength,
    firstQuery: run.reused,
    inherited: false,
    reused: run.reused,
    prefill: true,
    reserved: 0,
    windows: run.open.model.windows,
  };
}

/** @returns {{residual: boolean, cache: boolean}} of which vectors at a position the log lacks the lengths */
function lackingIn(run, position) {
  return { residual: run.residualNorm(0, position) === null, cache: run.kNorm(0, 0, position) === null };
}

/**
 * @param {Object} run
 * @param {number} step index of a complete step
 * @returns {Object} shape, and readers of the step's values. `firstQuery`: the first row that this run computed in this step; without a
 *   cache it is 0 at every step, and in an inherited step it is `positions`. `reused`: rows that no step of the run computed. `firstHeld`: the first position in a layer's
 *   cache after the step; `firstKey`: the first key that a query of a layer reads; `lacks`: see `lackingIn`
 */
export function mapView(run, step) {
  const { data, firstQuery, rows } = run.steps[step];
  const { first } = stepRows(run, step);
  return {
    layers: run.layers,
    heads: run.heads,
    kvHeads: run.kvHeads,
    columns: columnsFor(firstQuery + rows, blockSizeOf(run)),
    positions: firstQuery + rows,
    firstQuery: first,
    inherited: isInherited(run, step),
    reused: run.reused,
    prefill: data.phase === "prefill",
    reserved: (data.kv?.blocks ?? 0) * blockSizeOf(run),
    windows: run.open.model.windows,
    lacks: lackingIn(run, firstQuery + rows - 1),
    firstHeld: (layer) => run.firstHeld(layer, step),
    firstKey: (layer, query) => run.firstKey(layer, query),
    row: (layer, head, query) => run.row(layer, head, query),
  };
}

/** Number of a prompt's rows, evenly spread, from which a scale is computed. */
const ROWS_FOR_A_SCALE = 16;

/**
 * Computes the scales of the lengths from the prompt's rows alone, so that they do not change while the run grows.
 *
 * @returns {{residual: {low, high}, k: {low, high}, v: {low, high}}}
 */
export function normRanges(run) {
  return {
    residual: residualRange(run),
    k: robustRange(promptValues(run, run.kvHeads, (layer, head, row) => run.kNorm(layer, head, row))),
    v: robustRange(promptValues(run, run.kvHeads, (layer, head, row) => run.vNorm(layer, head, row))),
  };
}

/** @returns {{low, high}} scale of Q's lengths, as in `normRanges`; separate, because only the lens shows Q */
export function queryRange(run) {
  return robustRange(promptValues(run, run.heads, (layer, head, row) => run.qNorm(layer, head, row)));
}

/** @returns {{low, high}} scale of the residual rows' lengths, as in `normRanges` */
export function residualRange(run) {
  return robustRange(promptValues(run, 1, (layer, _, position) => run.residualNorm(layer, position)));
}

function promptValues(run, heads, read) {
  const { rows: computed, firstQuery } = run.steps[0];
  const every = Math.ceil(computed / ROWS_FOR_A_SCALE);
  const rows = Math.ceil(computed / every);
  const values = new Float64Array(run.layers * heads * rows);
  let at = 0;
  for (let layer = 0; layer < run.layers; layer++) {
    for (let head = 0; head < heads; head++)
      for (let row = 0; row < rows; row++) values[at++] = read(layer, head, firstQuery + row * every);
  }
  return values;
}
