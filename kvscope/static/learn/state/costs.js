/** The bytes of a run of n tokens in each place, and the cost of losing or moving them, from the server's measurements. Pure. */

const BITS = 8;
const GIGA = 1e9;
/** A token's id, as 32 bits. */
const ID_BYTES = 4;

/**
 * @param {Object} state of `GET /api/state`
 * @param {{tokens: number, gigabits: number}} case tokens of a run; the network's speed, in Gbit/s
 * @returns {{weights: Object|null, cache: Object|null, ids: Object}} each {bytes, lostS, movedS}: seconds, null without a measurement
 */
export function costsOf(state, { tokens, gigabits }) {
  const moved = (bytes) => (BITS * bytes) / (GIGA * gigabits);
  const { weights, cache, pace, engine } = state;
  const weightBytes = weights && total(weights.bytes);
  const cacheBytes = cache && tokens * cache.position_bytes;
  const perSecond = pace && rateOf(pace.prefill);
  return {
    weights: weights && { bytes: weightBytes, lostS: engine.load_s, movedS: moved(weightBytes) },
    cache: cache && { bytes: cacheBytes, lostS: perSecond ? tokens / perSecond : null, movedS: moved(cacheBytes) },
    ids: { bytes: tokens * ID_BYTES, movedS: moved(tokens * ID_BYTES) },
  };
}

/** @returns {number|null} rows per second of some steps, null without steps */
export function rateOf({ rows, ms }) {
  return ms > 0 ? (1000 * rows) / ms : null;
}

/** @returns {number} bytes of all formats */
export function total(byFormat) {
  return Object.values(byFormat).reduce((sum, bytes) => sum + bytes, 0);
}

/** @returns {{used: number, free: number, usedBytes: number}} of the pool: blocks, and the bytes of used blocks */
export function poolOf({ blocks, free_blocks, block_size, position_bytes }) {
  const used = blocks - free_blocks;
  return { used, free: free_blocks, usedBytes: used * block_size * position_bytes };
}

/** @returns {{cacheBytes: number, logBytes: number, rows: number}} of an ended run, from its status and the bytes of a position */
export function runOf({ prompt_tokens, steps, bytes }, positionBytes) {
  const rows = prompt_tokens + steps - 1;
  return { rows, cacheBytes: rows * positionBytes, logBytes: bytes };
}
