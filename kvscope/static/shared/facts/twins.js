/** Compares a run with its twin: the same prompt and settings, executed without a cache. Pure. */

import { disturbance } from "./conditions.js";
import { isInherited, stepRows } from "./step-rows.js";

/**
 * Returns the largest difference between two steps' listed logits, over the ids that both list.
 *
 * @returns {{largest: number, compared: number}}
 */
export function logitDifference(a, b) {
  const other = new Map(Array.from(b.topIds, (id, i) => [id, b.topLogits[i]]));
  let largest = 0;
  let compared = 0;
  a.topIds.forEach((id, i) => {
    if (!other.has(id)) return;
    compared += 1;
    largest = Math.max(largest, Math.abs(a.topLogits[i] - other.get(id)));
  });
  return { largest, compared };
}

/** Returns the cost of a step; `ms` is null if the run that this one branched from computed and measured it. */
function sideOf(run, step) {
  const { data } = run.steps[step];
  const rows = stepRows(run, step).computed;
  if (isInherited(run, step)) return { rows, ms: null, flops: 0, read: 0 };
  return {
    rows,
    ms: data.ms.forward,
    flops: data.flops,
    read: data.bytes_read,
    conditions: data.conditions,
    batch: data.batch,
  };
}

/**
 * Compares the steps that both runs have; logits only while both have the same earlier tokens.
 *
 * @param {Object} run
 * @param {Object} twin its log, which may still be growing
 * @returns {{steps: {step: number, cached: Object, twin: Object, again: number,
 *     logits: null|{largest: number, compared: number}}[],
 *   cached: Object, twin: Object, times: Object, again: number, logits: null|{largest: number, compared: number, of: number},
 *   parting: number|null}}
 *   `cached` and `twin`: {rows, flops, read} in all, with ms of a step; `times`: of `timesOf`; `again`: rows the twin computed again;
 *   `parting`: first step that chose another token
 */
export function compareTwin(run, twin) {
  const count = Math.min(run.steps.length, twin.steps.length);
  const total = () => ({ rows: 0, flops: 0, read: 0 });
  const all = { steps: [], cached: total(), twin: total(), again: 0, logits: null, parting: null };
  for (let step = 0; step < count; step++) {
    const [mine, its] = [run.steps[step], twin.steps[step]];
    const sides = { cached: sideOf(run, step), twin: sideOf(twin, step) };
    for (const side of ["cached", "twin"]) for (const name in all[side]) all[side][name] += sides[side][name];
    const logits = all.parting === null ? logitDifference(mine, its) : null;
    const again = Math.max(0, sides.twin.rows - sides.cached.rows);
    all.again += again;
    if (logits) all.logits = worse(all.logits, { ...logits, of: mine.topIds.length });
    if (all.parting === null && mine.data.token.id !== its.data.token.id) all.parting = step;
    all.steps.push({ step, ...sides, again, logits });
  }
  return { ...all, times: timesOf(all.steps) };
}

/** Times of two runs are compared if at least this share of their steps was undisturbed on both sides. */
const ENOUGH_QUIET = 0.5;

/** @returns {{steps: number, cached: number, twin: number, disturbed: boolean}} ms of the steps undisturbed on both sides; of all steps if these are too few */
function timesOf(all) {
  const steps = all.filter(({ cached }) => cached.ms !== null);
  const quiet = steps.filter(({ cached, twin }) => disturbance(cached) === null && disturbance(twin) === null);
  const disturbed = quiet.length < ENOUGH_QUIET * steps.length;
  const counted = disturbed ? steps : quiet;
  const sum = (side) => counted.reduce((ms, step) => ms + step[side].ms, 0);
  return { steps: counted.length, cached: sum("cached"), twin: sum("twin"), disturbed };
}

function worse(a, b) {
  if (!a) return b;
  return { ...(b.largest > a.largest ? b : a), compared: Math.min(a.compared, b.compared) };
}

/**
 * Counts the rows that the run would compute without a cache: every position again in every step. Arithmetic, not a measurement.
 *
 * @param {Object} run
 * @param {number} [count] of steps, from the prompt on
 * @returns {{cached: number, without: number, again: number}} rows over these steps
 */
export function rowsWithoutCache(run, count = run.steps.length) {
  let cached = 0;
  let without = 0;
  for (let step = 0; step < count; step++) {
    cached += stepRows(run, step).computed;
    without += run.steps[step].firstQuery + run.steps[step].rows;
  }
  return { cached, without, again: without - cached };
}

/**
 * Returns the twin to show among a family's runs: the newest that reached its end, else the newest.
 *
 * @param {Object[]} runs of `client.family`
 * @param {string} id whose twin
 * @param {{cache: string, budget?: number, tokens?: string}} fields that its `study` must have
 * @returns {string|null}
 */
export function twinAmong(runs, id, fields) {
  const names = Object.keys(fields);
  const twins = runs
    .filter(
      ({ study }) => study?.kind === "twin" && study.of === id && names.every((name) => study[name] === fields[name]),
    )
    .sort((a, b) => (a.created < b.created ? 1 : -1));
  const whole = twins.find(({ reason }) => !reason || reason === "eos" || reason === "length");
  return (whole ?? twins[0])?.id ?? null;
}
