/**
 * The blocks of the KV cache: which run holds which, as kvscope/model/kv_cache.py. The rows themselves are in the memory of the
 * WebAssembly module (native/model.js).
 */

import { msg } from "../../shared/words/msg.js";

/** Positions of a block. */
export const BLOCK_SIZE = 16;

export class CacheFull extends Error {}

/**
 * @param {Object} parts
 * @param {number} parts.blocks
 * @param {(from: number, to: number, rows: number) => void} parts.copyRows copies K and V of some slots to others
 */
export function createCache({ blocks, copyRows }) {
  const refcounts = new Uint32Array(blocks);

  const take = () => {
    const block = refcounts.indexOf(0);
    if (block < 0) throw new CacheFull(msg`no block of the KV cache is free`);
    refcounts[block] = 1;
    return block;
  };

  const release = (table) => {
    for (const block of table) refcounts[block] -= 1;
  };

  return {
    blockSize: BLOCK_SIZE,
    free: () => refcounts.reduce((free, count) => free + (count === 0 ? 1 : 0), 0),
    refcounts: (table) => table.map((block) => refcounts[block]),
    release,

    /** Adds blocks to a table until it has room for so many positions.  @throws {CacheFull} */
    reach(table, positions) {
      while (table.length * BLOCK_SIZE < positions) table.push(take());
    },

    /**
     * Returns a table with the first `rows` rows of another: its full blocks are shared, the last one is copied.
     *
     * @throws {CacheFull}
     */
    share(table, rows) {
      const full = Math.floor(rows / BLOCK_SIZE);
      const rest = rows % BLOCK_SIZE;
      const shared = table.slice(0, full);
      if (rest) {
        const block = take();
        copyRows(table[full] * BLOCK_SIZE, block * BLOCK_SIZE, rest);
        shared.push(block);
      }
      for (const block of table.slice(0, full)) refcounts[block] += 1;
      return shared;
    },
  };
}

/** @returns {number[]} the slots of the first `positions` positions of a table */
export function slotsOf(table, positions) {
  return Array.from(
    { length: positions },
    (_, position) => table[Math.floor(position / BLOCK_SIZE)] * BLOCK_SIZE + (position % BLOCK_SIZE),
  );
}
