/** Sorts logits. */

const BITS = 11;
const BUCKETS = 1 << BITS;
/** The bits of −0, which is equal to 0. */
const NEGATIVE_ZERO = 0x80000000 | 0;

/**
 * Sorts by the bits of the numbers (a radix sort): for 49,152 logits several times as fast as a sort that compares.
 *
 * @param {Float32Array} logits
 * @returns {Int32Array} their indices, largest logit first, equal ones in order
 */
export function descending(logits) {
  const count = logits.length;
  const keys = keysOf(logits);
  let from = new Int32Array(count);
  let to = new Int32Array(count);
  for (let i = 0; i < count; i++) from[i] = i;
  for (let shift = 0; shift < 32; shift += BITS) {
    const starts = new Int32Array(BUCKETS + 1);
    for (let i = 0; i < count; i++) starts[((keys[i] >>> shift) & (BUCKETS - 1)) + 1] += 1;
    for (let bucket = 0; bucket < BUCKETS; bucket++) starts[bucket + 1] += starts[bucket];
    for (let i = 0; i < count; i++) {
      const bucket = (keys[from[i]] >>> shift) & (BUCKETS - 1);
      to[starts[bucket]++] = from[i];
    }
    [from, to] = [to, from];
  }
  return from;
}

/** Returns whole numbers whose order is the reverse of the logits'. */
function keysOf(logits) {
  const bits = new Int32Array(logits.buffer, logits.byteOffset, logits.length);
  const keys = new Uint32Array(logits.length);
  for (let i = 0; i < keys.length; i++) {
    const own = bits[i] === NEGATIVE_ZERO ? 0 : bits[i];
    keys[i] = own < 0 ? own : ~(own | NEGATIVE_ZERO);
  }
  return keys;
}
