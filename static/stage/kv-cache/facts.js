/** The KV cache in bytes, twice: the size of the engine's tensors, and by the formula. Pure. */

import { msg } from "../../shared/words/msg.js";

/**
 * bytes = 2 · layers · KV heads · head dim · positions · bytes per element; the 2 is K and V.
 *
 * @param {Object} model of an `open` frame
 * @param {number} positions
 */
export function cacheBytes(model, positions) {
  return model.layers * layerBytes(model, positions);
}

const layerBytes = (model, positions) => 2 * model.kv_heads * model.head_dim * positions * model.element_bytes;

/** The same where layers with a window hold fewer positions, of a model that has some. */
function heldBytes(model, positions, inWindow = positions) {
  const held = Array.from({ length: model.layers }, (_, layer) => (model.windows?.[layer] ? inWindow : positions));
  return held.reduce((total, each) => total + layerBytes(model, each), 0);
}

/**
 * @param {Object} run
 * @param {number} step index of a complete step
 * @returns {{rows: number, positions: number, written: {measured: number, formula: number},
 *   used: {measured: number, formula: number}, reserved: {measured: number, formula: number},
 *   room: number, windowed?: {positions: number, blocks: number}, blocks: {id: number, filled: number, sharedBy: number}[], blockSize: number}} `room`: blocks reserved
 */
export function cacheAccount(run, step) {
  const { rows, data } = run.steps[step];
  const { kv } = data;
  const blocks = kv.block_table.map((id, i) => ({
    id,
    filled: Math.min(run.open.block_size, Math.max(0, kv.positions - i * run.open.block_size)),
    sharedBy: kv.refcounts[i],
  }));
  const { positions, blocks: room } = kv;
  const { model, block_size: blockSize } = run.open;
  return {
    rows,
    positions,
    written: { measured: kv.bytes_written, formula: cacheBytes(model, rows) },
    used: { measured: kv.bytes_used, formula: heldBytes(model, positions, kv.windowed?.positions) },
    reserved: {
      measured: kv.bytes_reserved,
      formula: heldBytes(model, room * blockSize, kv.windowed && kv.windowed.blocks * blockSize),
    },
    room,
    windowed: kv.windowed,
    blocks,
    blockSize,
  };
}

/** Bytes per number of the formats of a cache. int8 also needs a scale per group of numbers, left out here. */
const BF16_BYTES = 2;
const INT8_BYTES = 1;

/**
 * What the same positions would take in other caches: arithmetic, by the formula.
 *
 * @param {Object} model of an `open` frame
 * @returns {{id: string, name: string, ratio: number}[]} `ratio`: to this model's cache; the kind of this model is left out
 */
export function otherCaches(model) {
  const { heads, kv_heads: kvHeads, element_bytes: own } = model;
  const all = [
    { id: "mha", name: msg`${heads} KV heads (MHA)`, ratio: heads / kvHeads },
    { id: "mqa", name: msg`1 KV head (MQA)`, ratio: 1 / kvHeads },
    { id: "bf16", name: "bf16", ratio: BF16_BYTES / own },
    { id: "int8", name: "int8", ratio: INT8_BYTES / own },
  ];
  return all.filter(({ ratio }) => ratio !== 1);
}

/** @returns {{used: {x: number, y: number}[], reserved: {x: number, y: number}[]}} measured bytes by step */
export function cacheGrowth(run) {
  const points = (name) => run.steps.map(({ data }, x) => ({ x, y: data.kv[name] }));
  return { used: points("bytes_used"), reserved: points("bytes_reserved") };
}
