/** The KV cache in bytes, twice: the size of the engine's tensors, and by the formula. Pure. */

import { integer } from "../../shared/facts/format.js";
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

export const layerBytes = (model, positions) => 2 * model.kv_heads * model.head_dim * positions * model.element_bytes;

/** @returns {number} how many layers have a sliding window: local layers */
export function localLayers({ windows }) {
  return windows?.filter((window) => window !== null).length ?? 0;
}

/** @returns {number} bytes that one more token adds once local layers are full: those of global layers; local ones drop as much as they write */
export function globalBytes(model) {
  return (model.layers - localLayers(model)) * layerBytes(model, 1);
}

/** The same as `cacheBytes` where layers with a window hold fewer positions, of a model that has some. */
function heldBytes(model, positions, inWindow = positions) {
  const local = localLayers(model);
  return (model.layers - local) * layerBytes(model, positions) + local * layerBytes(model, inWindow);
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
