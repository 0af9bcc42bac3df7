/** The rows of each step as areas: a line per step from the top, as wide as its rows. Pure. */

/**
 * @param {number} prompt
 * @param {number} added
 * @param {{width: number, height: number}} box
 * @returns {{prefill: string, earlier: string, fresh: string}} points of polygons: the prompt's rows in step 0; in the later steps, the
 *   rows of tokens that earlier steps have computed, and the row of the newest token. "" for an empty area
 */
export function areasOf(prompt, added, { width, height }) {
  const x = (rows) => (width * rows) / (prompt + added - 1);
  const y = (step) => (height * step) / added;
  const prefill = [
    [0, 0],
    [x(prompt), 0],
    [x(prompt), y(1)],
    [0, y(1)],
  ];
  if (added === 1) return { prefill: points(prefill), earlier: "", fresh: "" };
  const outer = edgeOf(prompt, added).map(([rows, step]) => [x(rows), y(step)]);
  const inner = edgeOf(prompt, added).map(([rows, step]) => [x(rows - 1), y(step)]);
  return {
    prefill: points(prefill),
    earlier: points([[0, y(1)], ...inner, [0, height]]),
    fresh: points([...outer, ...inner.toReversed()]),
  };
}

const points = (corners) => corners.map(([across, down]) => `${round(across)},${round(down)}`).join(" ");

/** Above this number of steps, the edge is drawn as a slope. */
const MOST_STAIRS = 120;

/** Returns the corners of the right edge of the steps after prefill, from the top: [rows, step]. */
function edgeOf(prompt, added) {
  const last = prompt + added - 1;
  if (added > MOST_STAIRS) {
    return [
      [prompt + 1, 1],
      [last, added - 1],
      [last, added],
    ];
  }
  return Array.from({ length: added - 1 }, (_, at) => [
    [prompt + at + 1, at + 1],
    [prompt + at + 1, at + 2],
  ]).flat();
}

const round = (number) => Math.round(number * 100) / 100;
