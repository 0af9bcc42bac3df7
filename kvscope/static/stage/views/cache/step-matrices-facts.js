/** The matrices of a decode step computed without a cache, a row for every token, beside the rows that were computed before. Pure. */

/** @typedef {{shape: number[], data: Float32Array}} Tensor */

/**
 * @typedef {Object} StepMatrix
 * @property {string} id its name in the answer `algebra` (docs/frames.md)
 * @property {Tensor} again all rows without a cache
 * @property {Tensor|null} before the earlier rows as they were before this step; null: the same to the last bit
 * @property {Float32Array} now the newest row, computed with the cache
 * @property {boolean} cached its earlier rows are in the cache
 * @property {boolean} triangle a column is a key: only those up to the row's own exist
 */

/** In the order of the computation; K and V are the rows of the cache. */
const OF_HEAD = ["attn.normed", "q", "k", "v", "scores", "weights", "output"];
const OF_LAYER = ["attn.change", "resid_mid", "mlp.hidden", "resid_out"];
const KEPT = ["k", "v"];
const TRIANGLES = ["scores", "weights"];

/**
 * Lists the matrices of an answer.
 *
 * @param {Object<string, Tensor>} values as `client.ask("algebra")` gives them; of a long text, they have only K and V in both forms
 * @returns {{head: StepMatrix[], layer: StepMatrix[]}} `head`: up to the output of one head; `layer`: of the whole layer
 */
export function matricesOf(values) {
  const whole = "scores_again" in values;
  const listed = (ids) => ids.filter((id) => values[`${id}_again`] && (whole || KEPT.includes(id))).map(matrix);
  const matrix = (id) => {
    const cached = KEPT.includes(id);
    const { shape, data } = values[id];
    return {
      ...{ id, cached, triangle: TRIANGLES.includes(id), again: values[`${id}_again`] },
      before: cached ? values[id] : (values[`${id}_before`] ?? null),
      now: data.subarray(data.length - shape[1]),
    };
  };
  return { head: listed(OF_HEAD), layer: listed(OF_LAYER) };
}

/**
 * Returns the columns that a row of a matrix has.
 *
 * @param {StepMatrix} matrix
 * @param {number} row
 * @param {(row: number) => number} firstKey the first key that the row reads
 * @returns {{from: number, end: number}} `end` is exclusive
 */
export function columnsOf({ triangle, again }, row, firstKey) {
  return triangle ? { from: firstKey(row), end: row + 1 } : { from: 0, end: again.shape[1] };
}

/** @param {StepMatrix} matrix @returns {Float32Array} the numbers of a row: the newest with the cache, others without it */
export function rowOf({ again, now }, row) {
  const [rows, width] = again.shape;
  return row === rows - 1 ? now : again.data.subarray(row * width, (row + 1) * width);
}

/**
 * Returns one number and the one that it is compared with.
 *
 * @param {StepMatrix} matrix
 * @returns {{value: number, other: number, difference: number}} of an earlier row: without a cache now, and before this step; of the
 *   newest row: with the cache, and without one
 */
export function numberOf(matrix, row, column) {
  const { again, before } = matrix;
  const [rows, width] = again.shape;
  const value = rowOf(matrix, row)[column];
  const without = again.data[row * width + column];
  const other = row === rows - 1 || !before ? without : before.data[row * before.shape[1] + column];
  return { value, other, difference: Math.abs(value - other) };
}

/**
 * Sums up the earlier rows of some matrices.
 *
 * @param {StepMatrix[]} matrices
 * @param {(row: number) => number} firstKey the first key that a row reads
 * @returns {{numbers: number, different: number, largest: number, size: number}} how many numbers there are; how many of them the step changes
 *   in any bit; the largest |difference|; the largest |number|
 */
export function earlierRows(matrices, firstKey) {
  const sum = { numbers: 0, different: 0, largest: 0, size: 0 };
  for (const matrix of matrices) {
    const newest = matrix.again.shape[0] - 1;
    // A local layer has dropped rows of K and V that it no longer reads.
    for (let row = matrix.cached ? firstKey(newest) : 0; row < newest; row++) {
      const { from, end } = columnsOf(matrix, row, firstKey);
      for (let column = from; column < end; column++) {
        const { value, difference } = numberOf(matrix, row, column);
        sum.numbers += 1;
        sum.different += Number(difference > 0);
        sum.largest = Math.max(sum.largest, difference);
        sum.size = Math.max(sum.size, Math.abs(value));
      }
    }
  }
  return sum;
}
