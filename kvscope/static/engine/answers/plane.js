/** Draws rows in the plane of their first two principal axes, as `plane` in kvscope/model/activations/embedding.py. Pure. */

/** Sweeps after which the rotations of 13 rows have long ended. */
const MOST_SWEEPS = 50;

/**
 * @param {Float32Array[]} rows of the same length
 * @returns {{points: number[][], kept: number}} two coordinates of each row, and the share of the variance on both axes; of an axis, the row
 *   furthest from 0 has a positive coordinate
 */
export function planeOf(rows) {
  const mean = Float64Array.from(rows[0], (_, i) => rows.reduce((sum, row) => sum + row[i], 0) / rows.length);
  const centred = rows.map((row) => Float64Array.from(row, (number, i) => number - mean[i]));
  const { values, vectors } = eigen(centred.map((a) => centred.map((b) => dot(a, b))));
  const variance = values.reduce((sum, value) => sum + value, 0);
  if (!(variance > 0)) return { points: rows.map(() => [0, 0]), kept: 1 };
  const best = values.map((_, i) => i).sort((a, b) => values[b] - values[a]);
  const axes = best.slice(0, 2).map((axis) => {
    const size = Math.sqrt(Math.max(0, values[axis]));
    const along = vectors.map((row) => row[axis] * size);
    const furthest = along.reduce((most, each) => (Math.abs(each) > Math.abs(most) ? each : most), 0);
    return along.map((each) => each * Math.sign(furthest));
  });
  const share = best.slice(0, 2).reduce((sum, axis) => sum + Math.max(0, values[axis]), 0) / variance;
  return { points: rows.map((_, i) => axes.map((along) => along[i])), kept: share };
}

/** @returns {number} */
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/**
 * Returns the eigenvalues of a symmetric matrix and its eigenvectors in columns, by Jacobi's rotations (Golub, Van Loan: Matrix
 * Computations, section 8.5).
 */
function eigen(symmetric) {
  const size = symmetric.length;
  const matrix = symmetric.map((row) => [...row]);
  const vectors = matrix.map((_, i) => matrix.map((_, j) => Number(i === j)));
  const scale = matrix.reduce((sum, row, i) => sum + Math.abs(row[i]), 0);
  const off = () =>
    matrix.reduce((sum, row, i) => sum + row.reduce((all, each, j) => all + (i === j ? 0 : Math.abs(each)), 0), 0);
  for (let sweep = 0; sweep < MOST_SWEEPS && off() > 1e-15 * scale; sweep++)
    for (let p = 0; p < size; p++) for (let q = p + 1; q < size; q++) if (matrix[p][q]) rotate(matrix, vectors, p, q);
  return { values: matrix.map((row, i) => row[i]), vectors };
}

/** Rotates rows and columns `p` and `q` so that their common entry becomes 0. */
function rotate(matrix, vectors, p, q) {
  const theta = (matrix[q][q] - matrix[p][p]) / (2 * matrix[p][q]);
  const tangent = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
  const cosine = 1 / Math.hypot(tangent, 1);
  const sine = tangent * cosine;
  const turn = (row, other, i, j) => {
    const [x, y] = [row[i], other[j]];
    row[i] = cosine * x - sine * y;
    other[j] = sine * x + cosine * y;
  };
  for (const row of matrix) turn(row, row, p, q);
  for (let i = 0; i < matrix.length; i++) turn(matrix[p], matrix[q], i, i);
  for (const row of vectors) turn(row, row, p, q);
}
