/** Measured times of a run's steps. Pure. */

import { undisturbed } from "../../shared/facts/conditions.js";
import { median } from "../../shared/facts/median.js";
import { measuredTogether } from "../../shared/facts/step-rows.js";

/**
 * @param {Object} run
 * @param {number} step the shown step; later steps do not count, nor do those that another run measured
 * @returns {{prefill: null|{ms: number, tokens: number, perToken: number},
 *   decode: null|{here: number|null, median: number, perSecond: number, steps: number[], of: number, disturbed: boolean},
 *   parts: {name: string, ms: number}[], total: number, batch: number}}
 *   ms throughout; `median`: of the `of` undisturbed steps, or of all if every one was disturbed; `prefill` null: another run computed it; `tokens`: the prompt tokens that were computed; `parts`: of the `total` of the shown step
 */
export function timeFacts(run, step) {
  const { from } = measuredTogether(run, step);
  const first = run.steps[0].data.ms.total;
  const { data } = run.steps[step];
  const decoded = run.steps.slice(Math.max(1, from), step + 1);
  const steps = decoded.map((one) => one.data.ms.total);
  const quiet = quietOf(decoded);
  const middle = median(quiet.steps.map((one) => one.data.ms.total));
  const { forward, capture, sample, total } = data.ms;
  return {
    prefill: from === 0 ? { ms: first, tokens: run.prefillRows, perToken: first / run.prefillRows } : null,
    decode: steps.length
      ? {
          here: step > 0 ? total : null,
          median: middle,
          perSecond: 1000 / middle,
          steps,
          of: quiet.steps.length,
          disturbed: quiet.disturbed,
        }
      : null,
    parts: [
      { name: "forward", ms: forward },
      { name: "capture", ms: capture },
      { name: "sample", ms: sample },
    ],
    total,
    batch: data.batch,
  };
}

/** @returns {{steps: Object[], disturbed: boolean}} the undisturbed steps, or all if every one was disturbed */
function quietOf(steps) {
  const quiet = undisturbed(steps);
  return quiet.length ? { steps: quiet, disturbed: false } : { steps, disturbed: steps.length > 0 };
}

/**
 * Returns a typical step of a phase: its rows, its cost, and its arithmetic per byte read.
 *
 * @param {Object} run
 * @param {"prefill"|"decode"} phase decode: each figure is the median over its steps
 * @param {{from: number, to: number}} [measured] of `measuredTogether`; the run's own steps by default
 * @returns {null|{steps: number, disturbed: boolean, rows: number, ms: number, msTotal: number, msPerToken: number, flops: number, read: number,
 *   flopsPerToken: number, readPerToken: number, intensity: number, flopsPerSecond: number, bytesPerSecond: number}}
 *   `ms`: the forward passes only, as `flops` and `read`; `msTotal`: the whole step; null if there is no such step
 */
export function phaseFacts(run, phase, { from, to } = measuredTogether(run, run.steps.length - 1)) {
  const all = run.steps.slice(from, to);
  const prefill = from === 0 ? 1 : 0;
  const { steps, disturbed } = quietOf(phase === "prefill" ? all.slice(0, prefill) : all.slice(prefill));
  if (!steps.length) return null;
  const middle = (of) => median(steps.map(of));
  const rows = middle(({ data }) => data.rows_computed);
  const ms = middle(({ data }) => data.ms.forward);
  const flops = middle(({ data }) => data.flops);
  const read = middle(({ data }) => data.bytes_read);
  return {
    steps: steps.length,
    disturbed,
    rows,
    ms,
    msTotal: middle(({ data }) => data.ms.total),
    msPerToken: ms / rows,
    flops,
    read,
    flopsPerToken: flops / rows,
    readPerToken: read / rows,
    intensity: flops / read,
    flopsPerSecond: (1000 * flops) / ms,
    bytesPerSecond: (1000 * read) / ms,
  };
}
