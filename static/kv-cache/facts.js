/** The KV cache in bytes, twice: as the engine read it off its tensors, and by the formula. Pure. */

/**
 * bytes = 2 · layers · KV heads · head dim · positions · bytes per element; the 2 is K and V.
 *
 * @param {Object} model of an `open` frame
 * @param {number} positions
 */
export function cacheBytes(model, positions) {
  return 2 * model.layers * model.kv_heads * model.head_dim * positions * model.element_bytes;
}

/**
 * @param {Object} run
 * @param {number} step index of a complete step
 * @returns {{rows: number, positions: number, written: {measured: number, formula: number},
 *   used: {measured: number, formula: number}, reserved: {measured: number, formula: number, positions: number, unused: number},
 *   room: number, blocks: {id: number, filled: number, sharedBy: number}[], blockSize: number, allHeads: {bytes: number, ratio: number}}}
 *   `room`: blocks reserved; `allHeads`: the same cache if every query head had a K/V head of its own (multi-head attention)
 */
export function cacheAccount(run, step) {
  const { rows, data } = run.steps[step];
  const { kv } = data;
  const blocks = kv.block_table.map((id, i) => ({
    id,
    filled: Math.min(run.open.block_size, Math.max(0, kv.positions - i * run.open.block_size)),
    sharedBy: kv.refcounts[i],
  }));
  const measured = { written: kv.bytes_written, used: kv.bytes_used, reserved: kv.bytes_reserved };
  return accountOf(run.open, { rows, positions: kv.positions, room: kv.blocks, blocks }, measured);
}

/**
 * What the first step will write, by the formula.
 *
 * @param {Object} run whose `open` frame is there
 * @returns {Object} as `cacheAccount`, `measured` null throughout, and no blocks: which ones it gets is not known before
 */
export function cacheForecast(run) {
  const rows = run.promptLength;
  const room = Math.ceil(rows / run.open.block_size);
  return accountOf(
    run.open,
    { rows, positions: rows, room, blocks: [] },
    { written: null, used: null, reserved: null },
  );
}

/** `room`: how many blocks are reserved. */
function accountOf({ model, block_size: blockSize }, { rows, positions, room, blocks }, measured) {
  const formula = cacheBytes(model, positions);
  const reserved = room * blockSize;
  const ratio = model.heads / model.kv_heads;
  return {
    rows,
    positions,
    written: { measured: measured.written, formula: cacheBytes(model, rows) },
    used: { measured: measured.used, formula },
    reserved: {
      measured: measured.reserved,
      formula: cacheBytes(model, reserved),
      positions: reserved,
      unused: reserved - positions,
    },
    room,
    blocks,
    blockSize,
    allHeads: { bytes: formula * ratio, ratio },
  };
}

/** Bytes per number of the types a cache may be kept in. int8 also needs a scale per group of numbers, left out here. */
const BF16_BYTES = 2;
const INT8_BYTES = 1;

/**
 * What the same positions would take in other caches: arithmetic, by the formula.
 *
 * @param {Object} model of an `open` frame
 * @returns {{id: string, name: string, ratio: number}[]} `ratio`: to this model's own cache; kinds that are its own are left out
 */
export function otherCaches(model) {
  const { heads, kv_heads: kvHeads, element_bytes: own } = model;
  const all = [
    { id: "mha", name: `${heads} KV heads (MHA)`, ratio: heads / kvHeads },
    { id: "mqa", name: "1 KV head (MQA)", ratio: 1 / kvHeads },
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
