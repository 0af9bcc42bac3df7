/** What a run loses when only some positions stay in its cache: a run and its twins, compared. Pure. */

import { kvHeadOf } from "../../../../shared/facts/attention.js";
import { weightOf } from "../../../../shared/log/companding.js";
import { klFacts } from "../forms.js";

/** By the engine's name, in the order of the page. */
export const POLICIES = ["window", "sinks", "heavy"];
/** The number of first positions that stay as attention sinks. */
const SINKS = 4;
const USUAL_BUDGET = 16;
const LEAST_BUDGET = 8;

/** @returns {{least: number, most: number}} positions that may stay: up to all that the run has in the cache */
export function budgetsOf({ positions }) {
  return { least: Math.min(LEAST_BUDGET, positions), most: positions };
}

/** @returns {{sinks: number, heavy: number, newest: number}} how many positions of each kind a budget has */
export function partsOf(policy, budget) {
  const sinks = policy === "sinks" ? Math.min(SINKS, budget - 1) : 0;
  const heavy = policy === "heavy" ? Math.floor(budget / 2) : 0;
  return { sinks, heavy, newest: budget - sinks - heavy };
}

/**
 * Returns the budget to show first: the budget of the newest twin, else 16, or half of a short run's positions.
 *
 * @param {Object} run
 * @param {Object[]|null} connected of `client.family`
 */
export function firstBudget(run, connected) {
  const { least, most } = budgetsOf(run);
  const twins = (connected ?? []).filter(({ study }) => study?.of === run.id && POLICIES.includes(study.cache));
  const newest = twins.reduce((best, twin) => (best && best.created > twin.created ? best : twin), null);
  return newest?.study.budget ?? Math.max(least, Math.min(USUAL_BUDGET, Math.floor(most / 2)));
}

/** Whether a bit of `kept` is set; a tensor with one layer or one KV head holds for all. */
function stays({ shape: [layers, heads, width], data }, layer, kvHead, position) {
  const line = (layers === 1 ? 0 : layer) * heads + (heads === 1 ? 0 : kvHead);
  return position < 8 * width && ((data[line * width + (position >> 3)] >> (position & 7)) & 1) === 1;
}

/**
 * @param {Object} twin
 * @param {number} step
 * @returns {(layer: number, kvHead: number, position: number) => boolean} whether the step's newest token can read it
 */
function readIn(twin, step) {
  if (step === 0) return () => true;
  const { kept } = twin.steps[step - 1];
  const newest = twin.steps[step].firstQuery;
  return (layer, kvHead, position) => position >= newest || stays(kept, layer, kvHead, position);
}

/** @returns {Float32Array} by position, in how many of all layers and KV heads the step can read it: 0…1 */
export function shareRead(twin, step) {
  const { layers, kvHeads } = twin;
  const { firstQuery, rows } = twin.steps[step];
  const reads = readIn(twin, step);
  const [ofLayers, ofHeads] = step ? twin.steps[step - 1].kept.shape : [1, 1];
  const tables = (ofLayers === 1 ? 1 : layers) * (ofHeads === 1 ? 1 : kvHeads);
  return Float32Array.from({ length: firstQuery + rows }, (_, position) => {
    let count = 0;
    for (let table = 0; table < tables; table++) {
      if (reads(Math.floor(table / kvHeads), table % kvHeads, position)) count += 1;
    }
    return count / tables;
  });
}

/** This many dropped positions in a row, or more, are shown as one piece. */
const LONG_HOLE = 12;
const SHOWN_OF_HOLE = 3;

/**
 * Divides a step's positions into pieces to show.
 *
 * @param {Float32Array} shares of `shareRead`
 * @returns {{first: number, last: number, share: number}[]} each position by itself, but the middle of a long hole as one
 */
export function shelfOf(shares) {
  const pieces = [];
  for (let first = 0; first < shares.length; ) {
    let end = first;
    while (end < shares.length && shares[end] === 0) end += 1;
    const long = end - first >= LONG_HOLE;
    const apart = (from, to) => {
      for (let at = from; at < to; at++) pieces.push({ first: at, last: at, share: shares[at] });
    };
    if (long) {
      apart(first, first + SHOWN_OF_HOLE);
      pieces.push({ first: first + SHOWN_OF_HOLE, last: end - SHOWN_OF_HOLE - 1, share: 0 });
      apart(end - SHOWN_OF_HOLE, end);
    } else apart(first, Math.max(end, first + 1));
    first = Math.max(end, first + 1);
  }
  return pieces;
}

/** @returns {number} the share of the attention that the run's newest token gave to positions the twin could not read */
function lostBy(run, reads, { layer, head, query }) {
  const row = run.row(layer, head, query);
  if (!row) return 0;
  const kvHead = kvHeadOf(run, head);
  let [lost, all] = [0, 0];
  for (let position = 0; position <= query; position++) {
    const weight = weightOf(row[position]);
    all += weight;
    if (!reads(layer, kvHead, position)) lost += weight;
  }
  return all ? lost / all : 0;
}

/**
 * Sums up the attention, by recorded weights, that the run gave to positions that its twin had dropped. Prefill drops none.
 *
 * @param {Object} run
 * @param {Object} twin given the run's tokens
 * @returns {{byStep: number[], byHead: Float32Array, mean: number, most: {layer: number, head: number, share: number}}}
 *   shares 0…1: `byStep` over all heads; `byHead` over all decode steps, at layer × heads + head
 */
export function lossOf(run, twin) {
  const { layers, heads } = run;
  const count = Math.min(run.steps.length, twin.steps.length);
  const byHead = new Float32Array(layers * heads);
  const byStep = Array.from({ length: count }, (_, step) => {
    if (step === 0) return 0;
    const reads = readIn(twin, step);
    const query = run.lastQueryOfStep(step);
    let sum = 0;
    for (let at = 0; at < byHead.length; at++) {
      const lost = lostBy(run, reads, { layer: Math.floor(at / heads), head: at % heads, query });
      byHead[at] += lost / Math.max(1, count - 1);
      sum += lost;
    }
    return sum / byHead.length;
  });
  const most = byHead.indexOf(Math.max(...byHead));
  return {
    byStep,
    byHead,
    mean: byHead.reduce((sum, share) => sum + share, 0) / byHead.length,
    most: { layer: Math.floor(most / heads), head: most % heads, share: byHead[most] },
  };
}

/**
 * Returns what a twin with the run's tokens measured.
 *
 * @param {Object} run
 * @param {Object} twin
 * @returns {{positions: number, bytes: number, blocks: number, kl: number[], mean: number, most: number,
 *   change: import("../forms.js").Change|null}} after the last step; `kl`: by step, in nats; `change`: the first step in which it would have
 *   chosen another token
 */
export function resultOf(run, twin) {
  const { positions, bytes_used: bytes, blocks } = twin.steps.at(-1).data.kv;
  const kl = twin.steps.map(({ data }) => data.kl);
  const step = twin.steps.findIndex(({ data }) => data.own.id !== data.token.id);
  const change = step < 0 ? null : { step, before: run.steps[step].data.token, after: twin.steps[step].data.own };
  return { positions, bytes, blocks, kl, ...klFacts(kl), change };
}

/** @returns {number} how many of the twin's first tokens are those of the run */
export function sameTokens(run, twin) {
  const at = twin.steps.findIndex(({ data }, step) => data.token.id !== run.steps[step]?.data.token.id);
  return at < 0 ? twin.steps.length : at;
}
