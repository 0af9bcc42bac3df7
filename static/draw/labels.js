/** Which columns or rows get a written label. Pure. */

/** Tokens are named one by one up to this thinning; past it the labels are positions, round numbers apart. */
const MOST_SKIPPED = 3;
const ROUND = [5, 10, 20, 25, 50, 100, 200, 250, 500];

/**
 * All where there is room, else every so many, never closer than `leastPx` to one that must be there.
 *
 * @param {{first?: number, count: number, pitch: number, leastPx: number, always: (number|null|undefined)[]}} line
 *   positions first … first + count - 1; `pitch`: pixels from one to the next
 * @returns {{position: number, named: boolean}[]} ascending; `named`: write the token, otherwise its position
 */
export function labelled({ first = 0, count, pitch, leastPx, always }) {
  const inside = (position) => typeof position === "number" && position >= first && position < first + count;
  const kept = [...new Set(always)].filter(inside);
  const spread = Math.max(1, Math.ceil(leastPx / pitch));
  const named = spread <= MOST_SKIPPED;
  const every = named ? spread : (ROUND.find((step) => step >= 2 * spread) ?? 2 * spread);
  const start = named ? first : Math.ceil(first / every) * every;
  const labels = kept.map((position) => ({ position, named: true }));
  for (let position = start; position < first + count; position += every) {
    if (kept.every((other) => Math.abs(other - position) >= spread)) labels.push({ position, named });
  }
  return labels.sort((a, b) => a.position - b.position);
}
