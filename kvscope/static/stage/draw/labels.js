/** Which columns or rows get a written label. Pure. */

/** Up to this spacing, labels are tokens; beyond it, they are positions at round numbers. */
const MOST_SKIPPED = 3;
const ROUND = [5, 10, 20, 25, 50, 100, 200, 250, 500];

/**
 * Returns all labels if there is space, else labels at regular intervals, never closer than `leastPx` to a required one. If two required labels are
 * too close, the later one in `always` stays.
 *
 * @param {{first?: number, count: number, pitch: number, leastPx: number, always: (number|null|undefined)[]}} line
 *   positions first … first + count - 1; `pitch`: pixels from one to the next
 * @returns {{position: number, named: boolean}[]} ascending; `named`: the label is the token, otherwise its position
 */
export function labelled({ first = 0, count, pitch, leastPx, always }) {
  const inside = (position) => typeof position === "number" && position >= first && position < first + count;
  const wanted = [...new Set(always.filter(inside))];
  const spread = Math.max(1, Math.ceil(leastPx / pitch));
  const named = spread <= MOST_SKIPPED;
  const every = named ? spread : (ROUND.find((step) => step >= 2 * spread) ?? 2 * spread);
  const start = named ? first : Math.ceil(first / every) * every;
  const isFarFrom = (others, position) => others.every((other) => Math.abs(other - position) >= spread);
  const required = wanted.filter((position, i) => isFarFrom(wanted.slice(i + 1), position));
  const labels = required.map((position) => ({ position, named: true }));
  for (let position = start; position < first + count; position += every) {
    if (isFarFrom(required, position)) labels.push({ position, named });
  }
  return labels.sort((a, b) => a.position - b.position);
}
