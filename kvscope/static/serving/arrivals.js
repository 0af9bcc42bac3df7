/** Random numbers and arrival times that are the same at every call. Pure. */

/** Numbers of the random sequence (Numerical Recipes, a linear congruential generator modulo 2³²). */
const [SEED, FACTOR, ADDED, MODULUS] = [7, 1664525, 1013904223, 2 ** 32];

/** @returns {number[]} `count` numbers from 0 to 1 */
export function randoms(count) {
  let last = SEED;
  return Array.from({ length: count }, () => {
    last = (FACTOR * last + ADDED) % MODULUS;
    return last / MODULUS;
  });
}

/**
 * @param {number[]} numbers from 0 to 1, one for each request
 * @param {number} gap ms between two requests, on average
 * @returns {number[]} when each arrives, in ms; the times between are exponentially distributed (Poisson arrivals), the first is at 0
 */
export function arrivalsOf(numbers, gap) {
  let arrives = 0;
  return numbers.map((number, at) => {
    if (at > 0) arrives += -Math.log(1 - number) * gap;
    return Math.round(arrives);
  });
}
