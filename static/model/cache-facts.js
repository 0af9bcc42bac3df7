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
