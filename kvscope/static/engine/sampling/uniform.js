/** The random numbers with which tokens are drawn: SplitMix64 (docs/frames.md, Sampling). */

const u64 = (number) => BigInt.asUintN(64, number);

/**
 * @param {number} seed of the run
 * @param {number} step
 * @returns {number} the random number of a step, in [0, 1) with 53 bits
 */
export function uniform(seed, step) {
  let z = u64(BigInt(seed) + BigInt(step + 1) * 0x9e3779b97f4a7c15n);
  z = u64((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = u64((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return Number((z ^ (z >> 31n)) >> 11n) / 2 ** 53;
}
