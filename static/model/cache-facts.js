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
 *   blocks: {id: number, filled: number, sharedBy: number}[], blockSize: number, allHeads: {bytes: number, ratio: number}}}
 *   `allHeads`: the same cache if every query head had a K/V head of its own (multi-head attention)
 */
export function cacheAccount(run, step) {
  const { model, block_size: blockSize } = run.open;
  const { rows, data } = run.steps[step];
  const { kv } = data;
  const formula = cacheBytes(model, kv.positions);
  const room = kv.blocks * blockSize;
  const ratio = model.heads / model.kv_heads;
  return {
    rows,
    positions: kv.positions,
    written: { measured: kv.bytes_written, formula: cacheBytes(model, rows) },
    used: { measured: kv.bytes_used, formula },
    reserved: {
      measured: kv.bytes_reserved,
      formula: cacheBytes(model, room),
      positions: room,
      unused: room - kv.positions,
    },
    blocks: kv.block_table.map((id, i) => ({
      id,
      filled: Math.min(blockSize, Math.max(0, kv.positions - i * blockSize)),
      sharedBy: kv.refcounts[i],
    })),
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
