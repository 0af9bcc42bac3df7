/**
 * The tokens of two runs in shared columns.
 *
 * The special tokens at the beginning are aligned first: one model's prompts begin with `<bos>`, another's do not. Then come the common
 * beginning and the first two tokens that differ. After them, prompt is aligned with prompt and answer with answer. Tokens that differ
 * are aligned by a longest common subsequence; between two common tokens, the first token of one run is above the first of the other. Pure.
 *
 * @typedef {{a: number|null, b: number|null, same: boolean}} Column positions in each run, null for none; `same`: both have the same token
 */

/** Above this number of pairs, differing parts are aligned from their first token on: the table of a subsequence takes two bytes per pair. */
const MOST_PAIRS = 16e6;

/** @returns {boolean} whether one model computed both */
export function sameModel(a, b) {
  const { sha256 } = a.open.model;
  return sha256 !== undefined && sha256 === b.open.model.sha256;
}

/** @returns {(token: Object) => number|string} ids of one model; across models, whose ids differ, the text */
export function keyOf(a, b) {
  return sameModel(a, b) ? ({ id }) => id : ({ bytes, text, special }) => (special ? text : bytes);
}

/**
 * @param {import("../log/run.js").Run} a
 * @param {import("../log/run.js").Run} b
 * @returns {{columns: Column[], lead: number}} `lead`: columns of special tokens at the beginning. Exchanging the runs exchanges the
 *   sides of each column
 */
export function align(a, b) {
  const key = keyOf(a, b);
  const [x, y] = [a.tokens.map(key), b.tokens.map(key)];
  let [i, j] = [a, b].map(specialsBefore);
  const columns = aligned(x, y, [0, i], [0, j]);
  const lead = columns.length;
  while (i < x.length && j < y.length && x[i] === y[j]) columns.push({ a: i++, b: j++, same: true });
  // The first tokens that differ follow the same text, so they share a column.
  if (i < x.length && j < y.length && i < a.promptLength === j < b.promptLength)
    columns.push({ a: i++, b: j++, same: false });
  const [startA, startB] = [Math.max(i, a.promptLength), Math.max(j, b.promptLength)];
  columns.push(...aligned(x, y, [i, startA], [j, startB]));
  columns.push(...aligned(x, y, [startA, x.length], [startB, y.length]));
  return { columns, lead };
}

/** @returns {number} how many special tokens the prompt begins with */
function specialsBefore({ tokens, promptLength }) {
  const at = tokens.slice(0, promptLength).findIndex(({ special }) => !special);
  return at < 0 ? Math.min(promptLength, tokens.length) : at;
}

/** Aligns two parts, always in the same order, because a longest common subsequence is not unique. */
function aligned(x, y, partX, partY) {
  const [left, right] = [x.slice(...partX), y.slice(...partY)];
  const flipped = isAfter(left, right);
  const pairs = flipped ? commonPairs(right, left).map(([i, j]) => [j, i]) : commonPairs(left, right);
  return columnsOf(pairs, partX, partY);
}

function isAfter(left, right) {
  if (left.length !== right.length) return left.length > right.length;
  const at = left.findIndex((key, i) => key !== right[i]);
  return at >= 0 && left[at] > right[at];
}

/** @returns {[number, number][]} a longest common subsequence: places in `left` and `right`, ascending */
function commonPairs(left, right) {
  let tail = 0;
  const [rows, line] = [left.length, right.length];
  while (tail < Math.min(rows, line) && left[rows - 1 - tail] === right[line - 1 - tail]) tail += 1;
  const [n, m] = [rows - tail, line - tail];
  const pairs = n * m > MOST_PAIRS ? [] : pairsOf(left.slice(0, n), right.slice(0, m));
  for (let i = 0; i < tail; i++) pairs.push([n + i, m + i]);
  return pairs;
}

function pairsOf(left, right) {
  const width = right.length + 1;
  /** Returns the length of the longest common subsequence after each pair of places. */
  const lengths = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      const at = i * width + j;
      lengths[at] = left[i] === right[j] ? lengths[at + width + 1] + 1 : Math.max(lengths[at + width], lengths[at + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    if (left[i] === right[j]) pairs.push([i++, j++]);
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return pairs;
}

function columnsOf(pairs, [fromX, toX], [fromY, toY]) {
  const columns = [];
  let [i, j] = [fromX, fromY];
  for (const [atX, atY] of [...pairs.map(([p, q]) => [fromX + p, fromY + q]), [toX, toY]]) {
    while (i < atX || j < atY) columns.push({ a: i < atX ? i++ : null, b: j < atY ? j++ : null, same: false });
    if (atX < toX && atY < toY) columns.push({ a: i++, b: j++, same: true });
  }
  return columns;
}

/**
 * Returns the columns with a token that at least one of the runs chose. The slider moves over them.
 *
 * @param {Column[]} columns
 * @returns {{column: number, a: number|null, b: number|null}[]} `a`, `b`: the step of each run that chose its token; null: it chose none
 */
function momentsOf(columns, a, b) {
  const stepOf = (run, position) =>
    position === null || position < run.promptLength ? null : position - run.promptLength;
  return columns
    .map((each, column) => ({ column, a: stepOf(a, each.a), b: stepOf(b, each.b) }))
    .filter((moment) => moment.a !== null || moment.b !== null);
}

/** @returns {number|null} the first moment at which the runs differ, or only one of them has a token */
function partingMoment(moments, columns) {
  const at = moments.findIndex(({ column }) => !columns[column].same);
  return at < 0 ? null : at;
}

/**
 * @returns {{columns: Column[], lead: number, first: number|null, moments: {column: number, a: number|null, b: number|null}[],
 *   parting: number|null}} `first`: the first column that differs, after the special tokens at the beginning
 */
export function comparisonOf(a, b) {
  const { columns, lead } = align(a, b);
  const moments = momentsOf(columns, a, b);
  const first = columns.findIndex(({ same }, at) => at >= lead && !same);
  return { columns, lead, first: first < 0 ? null : first, moments, parting: partingMoment(moments, columns) };
}
