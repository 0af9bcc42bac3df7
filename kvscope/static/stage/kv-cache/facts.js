/** The KV cache in bytes: measured, as the size of the engine's tensors, and computed by the formula. Pure. */

import { integer } from "../../shared/facts/format.js";
import { blockSizeOf } from "../../shared/log/model.js";
import { msg } from "../../shared/words/msg.js";

/**
 * Computes bytes = 2 · layers · KV heads · head dim · positions · bytes per element; the 2 is K and V.
 *
 * @param {Object} model of an `open` frame
 * @param {number} positions
 */
export function cacheBytes(model, positions) {
  return model.layers * layerBytes(model, positions);
}

export const layerBytes = (model, positions) => 2 * model.kv_heads * model.head_dim * positions * model.element_bytes;

/** @returns {number} how many of the first `layers` layers, by default of all, have a sliding window: local layers */
export function localLayers({ windows }, layers = undefined) {
  return windows?.slice(0, layers).filter((window) => window !== null).length ?? 0;
}

/** @returns {number} bytes that one more token adds once local layers are full: those of global layers; local ones drop as much as they write */
export function globalBytes(model) {
  return (model.layers - localLayers(model)) * layerBytes(model, 1);
}

/** Computes the bytes in the first `layers` layers, by default in all. Layers with a window hold fewer positions. */
function heldBytes(model, positions, inWindow = positions, layers = model.layers) {
  const local = localLayers(model, layers);
  return (layers - local) * layerBytes(model, positions) + local * layerBytes(model, inWindow);
}

/** @returns {number} bytes in the cache when the first `layers` layers of a step have written, by the formula */
export function bytesDuring(run, step, layers) {
  const { model } = run.open;
  const held = ({ positions, windowed }, count) => heldBytes(model, positions, windowed?.positions, count);
  const { kv: after } = run.steps[step].data;
  const before = run.steps[step - 1]?.data.kv ?? keptBefore(run, after);
  return held(before) - held(before, layers) + held(after, layers);
}

/** Returns how many positions of an earlier run the first step finds; local layers hold at most as many as after it. */
function keptBefore({ reused }, { windowed }) {
  return { positions: reused, windowed: windowed && { positions: Math.min(reused, windowed.positions) } };
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
  const blockSize = blockSizeOf(run);
  const blocks = (kv.block_table ?? []).map((id, i) => ({
    id,
    filled: Math.min(blockSize, Math.max(0, kv.positions - i * blockSize)),
    sharedBy: kv.refcounts[i],
  }));
  const { positions, blocks: room = 0 } = kv;
  const { model } = run.open;
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
 * Computes what the same positions would take in other caches, by the formula.
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

/**
 * @param {Object} model of an `open` frame, with windows
 * @returns {{global: number[], local: {layers: number[], widths: string}}} numbers of the layers, and the widths of windows
 */
export function layerKinds({ windows }) {
  const numbered = windows.map((window, layer) => ({ window, layer }));
  const local = numbered.filter(({ window }) => window !== null);
  return {
    global: numbered.filter(({ window }) => window === null).map(({ layer }) => layer),
    local: {
      layers: local.map(({ layer }) => layer),
      widths: [...new Set(local.map(({ window }) => window))].map(integer).join(", "),
    },
  };
}

/** @returns {{global: {x: number, y: number}[], local: {x: number, y: number}[]}} positions that one layer of a kind holds, measured, by step */
export function heldByStep(run) {
  const points = (read) => run.steps.map(({ data }, x) => ({ x, y: read(data.kv) }));
  return {
    global: points((kv) => kv.positions),
    local: points((kv) => kv.windowed?.positions ?? kv.positions),
  };
}

/** @returns {{used: {x: number, y: number}[], reserved: {x: number, y: number}[]}} measured bytes by step */
export function cacheGrowth(run) {
  const points = (name) => run.steps.map(({ data }, x) => ({ x, y: data.kv[name] }));
  return { used: points("bytes_used"), reserved: points("bytes_reserved") };
}
