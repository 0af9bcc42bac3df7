/** Positions of dots and their labels in a box: labels stay inside it and, where there is space, do not overlap. Pure. */

const LINE = 15;
const DOT = 7;
const PAD_Y = 18;

/**
 * Places dots and their labels. Both axes have the same scale.
 *
 * @param {number[][]} points [x, y], y upwards
 * @param {string[]} labels
 * @param {{width: number, height: number, letter: number}} box `letter`: the width of one letter
 * @returns {{x: number, y: number, left: number, baseline: number}[]} the centre of each dot, and where its label begins
 */
export function laidOut(points, labels, { width, height, letter }) {
  const widths = labels.map((label) => [...label].length * letter);
  const padX = Math.min(width / 3, Math.max(...widths) + DOT);
  const [middleX, rangeX] = middleOf(points.map(([x]) => x));
  const [middleY, rangeY] = middleOf(points.map(([, y]) => y));
  const scale = Math.min((width - 2 * padX) / (rangeX || 1), (height - 2 * PAD_Y) / (rangeY || 1));
  const dots = points.map(([x, y]) => ({
    x: width / 2 + (x - middleX) * scale,
    y: height / 2 - (y - middleY) * scale,
  }));
  const taken = [];
  return dots.map((dot, index) => {
    const places = placesOf(dot, widths[index], { width, height });
    const costs = places.map((place) => costOf(place, taken, dots));
    const best = places[costs.indexOf(Math.min(...costs))];
    taken.push(best);
    return { ...dot, left: best.left, baseline: best.bottom - 3 };
  });
}

function middleOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return [(low + high) / 2, high - low];
}

/** Returns candidate places of a label: right, left, above and below its dot, moved into the box. */
function placesOf({ x, y }, wide, { width, height }) {
  const offsets = [
    [DOT, -LINE / 2],
    [-DOT - wide, -LINE / 2],
    [-wide / 2, -LINE - DOT + 2],
    [-wide / 2, DOT - 2],
    [DOT, -LINE],
    [DOT, 0],
    [-DOT - wide, -LINE],
    [-DOT - wide, 0],
  ];
  return offsets.map(([dx, dy]) => {
    const left = Math.max(0, Math.min(width - wide, x + dx));
    const top = Math.max(0, Math.min(height - LINE, y + dy));
    return { left, top, right: left + wide, bottom: top + LINE };
  });
}

/** Returns the area of other labels that a place covers, with a penalty for each dot. */
function costOf(place, taken, dots) {
  const overlap = taken.reduce((sum, other) => sum + shared(place, other), 0);
  const covered = dots.filter(
    ({ x, y }) => x > place.left - 3 && x < place.right + 3 && y > place.top && y < place.bottom,
  );
  return overlap + 60 * covered.length;
}

function shared(one, other) {
  const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  return wide > 0 && high > 0 ? wide * high : 0;
}
