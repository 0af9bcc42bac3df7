/**
 * One query's row read in tiles of keys, as FlashAttention does (arXiv:2205.14135, algorithm 1) with the online softmax
 * (arXiv:1805.02867, algorithm 3): a maximum, a sum and a weighted sum of v (`mix`) go from tile to tile, and both sums
 * are rescaled when a tile has a larger score. Every operation is rounded to float32, as in the engine. Pure.
 */

import { lineOf } from "../block/scene.js";

const FLOAT_BYTES = 4;
const f32 = Math.fround;

/**
 * @typedef {{max: number, sum: number, mix: Float32Array}} State the values that one tile passes to the next
 * @typedef {{from: number, to: number, max: number, scale: number, powers: Float32Array, sum: number, mix: Float32Array,
 *   before: State, after: State}} Step `from` … `to`: the tile's keys; `max`, `sum` and `mix`: of this tile alone;
 *   `scale`: e^(old max − new max), by which the old sum and mix are multiplied; `powers`: e^(score − new max)
 */

/**
 * Computes a row tile by tile.
 *
 * @param {Object<string, {shape: number[], data: Float32Array}>} head scores, weights, v and output, as `client.ask("head")` gives them
 * @param {{row: number, query: number}} place `row`: which of the step's rows; `query`: its position
 * @param {number} size keys of a tile
 * @returns {{first: number, steps: Step[], weights: Float32Array, output: Float32Array, weightDifference: number,
 *   outputDifference: number}} `first`: the first key that the row reads; `weights` and `output`: after the last tile;
 *   `…Difference`: the largest from the engine's
 */
export function tiledRow(head, { row, query }, size) {
  const own = { weights: lineOf(head.weights, row), output: lineOf(head.output, row) };
  const first = firstRead(own.weights, query);
  const scores = lineOf(head.scores, row);
  const steps = [];
  let state = { max: Number.NEGATIVE_INFINITY, sum: 0, mix: new Float32Array(own.output.length) };
  for (let from = first; from <= query; from += size) {
    steps.push(stepOf(head, scores, state, from, Math.min(from + size - 1, query)));
    state = steps.at(-1).after;
  }
  const weights = Float32Array.from({ length: query + 1 }, (_, key) =>
    key < first ? 0 : Math.exp(f32(scores[key] - state.max)) / state.sum,
  );
  const output = state.mix.map((value) => value / state.sum);
  return {
    first,
    steps,
    weights,
    output,
    weightDifference: largestDifference(weights, own.weights),
    outputDifference: largestDifference(output, own.output),
  };
}

/** @returns {Step} */
function stepOf(head, scores, before, from, to) {
  const tile = scores.subarray(from, to + 1);
  const own = tile.reduce((largest, score) => Math.max(largest, score), Number.NEGATIVE_INFINITY);
  const max = Math.max(before.max, own);
  // Before the first tile the maximum is −∞, and e^−∞ = 0: the empty sums stay 0.
  const scale = f32(Math.exp(before.max - max));
  const powers = tile.map((score) => Math.exp(f32(score - max)));
  let sum = 0;
  const mix = new Float32Array(before.mix.length);
  powers.forEach((power, at) => {
    sum = f32(sum + power);
    const values = lineOf(head.v, from + at);
    for (let i = 0; i < mix.length; i++) mix[i] += f32(power * values[i]);
  });
  const after = {
    max,
    sum: f32(f32(before.sum * scale) + sum),
    mix: mix.map((value, i) => f32(before.mix[i] * scale) + value),
  };
  return { from, to, max: own, scale, powers, sum, mix, before, after };
}

/** A sliding window hides the first keys: their weight is exactly 0. The row's own key is always read. */
function firstRead(weights, query) {
  let key = 0;
  while (key < query && weights[key] === 0) key++;
  return key;
}

function largestDifference(values, own) {
  return values.reduce((most, value, at) => Math.max(most, Math.abs(value - own[at])), 0);
}

/**
 * Bytes, by formula, of one row read whole or in tiles.
 *
 * @param {{heads: number, context: number, head_dim: number}} model
 * @param {{keys: number, size: number}} row
 * @returns {{row: number, tile: number, state: number, layer: number}} `row`: one head's scores of this row; `tile`: those
 *   of one tile; `state`: maximum, sum and mix; `layer`: all heads' scores of the longest prompt that the model accepts
 */
export function bytesByFormula({ heads, context, head_dim: width }, { keys, size }) {
  return {
    row: FLOAT_BYTES * keys,
    tile: FLOAT_BYTES * Math.min(size, keys),
    state: FLOAT_BYTES * (2 + width),
    layer: FLOAT_BYTES * heads * context ** 2,
  };
}
