/** One run in the browser's engine: its tokens, its rows in the cache, and its next pass. */

import { compute } from "../native/pass.js";
import { shownOf } from "../sampling/candidates.js";
import { choose, probabilityOf } from "../sampling/choose.js";
import { slotsOf } from "./cache.js";
import { costOf, expertsUsed, sum } from "./cost.js";

/** The most rows of a pass: between two passes a run can be paused or stopped, and the page learns how far prefill is. */
const MOST_ROWS = 64;

/**
 * @typedef {Object} Run
 * @property {string} id
 * @property {number[]} ids all its tokens
 * @property {number} prompt how many are the prompt's
 * @property {Object} sampling
 * @property {number} newTokens the most tokens that it generates
 * @property {number[]} table its blocks of the cache
 * @property {number} fed how many of its tokens have rows in the cache
 * @property {string} key of the changes that compute its rows (changed.js)
 * @property {boolean} cached whether its rows stay between its steps; a twin without a cache computes them all at each step, and records no weights
 * @property {number} step
 * @property {Map<number, number>} forced the token that replaces the chosen one, by step
 * @property {(rows: {first: number, count: number}) => Object[]} edits of a pass with these rows, if the run is changed
 * @property {Spent} spent of the step so far
 * @property {Object} recorder
 *
 * @typedef {{chunks: number[], rows: number, flops: number, bytes_read: number, weights: import("./cost.js").ByFormat}} Spent chunks: ms of
 *   each pass
 */

/** @returns {Spent} the costs of a step that begins */
export const nothingSpent = () => ({ chunks: [], rows: 0, flops: 0, bytes_read: 0, weights: {} });

/**
 * Computes the next pass of a run.
 *
 * @param {Object} engine
 * @param {Run} run
 * @returns {{frames: Uint8Array[], closed: boolean}}
 */
export function advance(engine, run) {
  const { model, info, cost, now } = engine;
  const first = run.fed;
  const started = now();
  const { count, isLast, ...done } = pass(engine, run, true);
  spend(run.spent, costOf(info, cost, count, run.fed, expertsUsed(model, done.experts)), count, now() - started);
  const { captured, experts } = done;
  const frames = run.cached
    ? run.recorder.layers(info, { step: run.step, firstQuery: first, queries: count, captured, experts })
    : [];
  if (!isLast) return { frames, closed: false };

  const sampling = now();
  const own = choose(done.summary, done.logits, run.sampling, run.step);
  const forced = run.forced.get(run.step);
  const choice = forced === undefined ? own : { ...own, token: forced, ...rawOf(done, forced) };
  const shown = shownOf(done.summary, info.vocab);
  const sampleMs = now() - sampling;
  frames.push(run.recorder.step(stepData({ engine, run, choice, forced, sampleMs }), shown));
  run.ids.push(choice.token);
  run.step += 1;
  run.spent = nothingSpent();
  if (!run.cached) dropRows(engine.cache, run);
  const reason = info.eos.includes(choice.token) ? "eos" : run.step >= run.newTokens ? "length" : null;
  if (reason) frames.push(run.recorder.close({ reason, error: null, steps: run.step }));
  return { frames, closed: reason !== null };
}

/**
 * Computes the rows of all tokens but the last again, without recording them: of a run whose first frames exist.
 *
 * @param {Object} engine
 * @param {Run} run
 * @returns {{rows: number, ms: number}} how many were not in the cache, and how long they took
 */
export function catchUp(engine, run) {
  const rows = run.ids.length - 1 - run.fed;
  const started = engine.now();
  while (run.fed < run.ids.length - 1) pass(engine, run, false);
  return { rows, ms: rounded(engine.now() - started) };
}

/** Computes the next rows of a run: up to its last token if they are recorded, else up to the one before. */
function pass({ model, cache }, run, capture) {
  const first = run.fed;
  const end = Math.min(first + MOST_ROWS, run.ids.length - (capture ? 0 : 1));
  const ids = run.ids.slice(first, end);
  const isLast = end === run.ids.length;
  cache.reach(run.table, end);
  const done = compute(
    model,
    {
      ids,
      slots: slotsOf(run.table, end),
      capture: capture && (run.cached || isLast),
      edits: run.edits({ first, count: ids.length }),
    },
    ({ logits, captured, experts, summary }) => ({
      logits: isLast ? logits.slice() : null,
      captured,
      experts,
      summary: isLast ? summary(0) : null,
    }),
  );
  run.fed = end;
  return { ...done, count: ids.length, isLast };
}

function spend(spent, { flops, bytes_read: read, weights }, rows, ms) {
  spent.chunks.push(rounded(ms));
  spent.rows += rows;
  spent.flops += flops;
  spent.bytes_read += read;
  spent.weights = sum(spent.weights, weights);
}

function dropRows(cache, run) {
  cache.release(run.table);
  run.table = [];
  run.fed = 0;
}

/** Returns the probability of a token that the model did not choose. */
function rawOf({ logits, summary }, token) {
  const prob = probabilityOf(summary, logits[token]);
  return { prob, raw_prob: prob };
}

/** Returns the data of a `step` frame. The browser does not say what else the machine did, nor how long each layer took. */
function stepData({ engine: { info, cache, tokenizer }, run, choice, forced, sampleMs }) {
  const { spent, table, fed } = run;
  const forward = spent.chunks.reduce((sum, ms) => sum + ms, 0);
  const positionBytes = 2 * info.layers * info.kv_heads * info.head_dim * info.element_bytes;
  const { token, prob, raw_prob, entropy, log_z, ...filters } = choice;
  return {
    step: run.step,
    phase: run.step === 0 ? "prefill" : "decode",
    position: fed - 1,
    token: { ...tokenizer.token(token), prob, raw_prob, ...(forced === undefined ? {} : { forced: true }) },
    entropy,
    log_z,
    filters: { temperature: run.sampling.temperature, ...filters },
    ms: {
      forward: rounded(forward),
      capture: 0,
      sample: rounded(sampleMs),
      total: rounded(forward + sampleMs),
      chunks: spent.chunks,
      layers: null,
    },
    batch: 1,
    kv: {
      positions: fed,
      blocks: table.length,
      block_table: [...table],
      refcounts: cache.refcounts(table),
      bytes_written: spent.rows * positionBytes,
      bytes_used: fed * positionBytes,
      bytes_reserved: table.length * cache.blockSize * positionBytes,
    },
    flops: spent.flops,
    bytes_read: spent.bytes_read,
    weights_read: spent.weights,
    rows_computed: spent.rows,
    computed_by: "native",
    conditions: null,
  };
}

/** Returns milliseconds as frames have them: whole microseconds. */
const rounded = (ms) => Math.round(1000 * ms) / 1000;
