import assert from "node:assert/strict";
import { test } from "node:test";
import { paintMatrix } from "../../../../../kvscope/static/stage/views/cache/step-cells.js";
import {
  columnsOf,
  earlierRows,
  matricesOf,
  numberOf,
} from "../../../../../kvscope/static/stage/views/cache/step-matrices-facts.js";

const tensor = (shape, values) => ({ shape, data: Float32Array.from(values) });

/** Three rows; K has one number that differs from the cache by 0.25, S one that the step changed by 0.5. */
const VALUES = {
  ...{ k: tensor([3, 1], [1, 2, 3]), k_again: tensor([3, 1], [1, 2.25, 3]) },
  ...{ v: tensor([3, 1], [4, 5, 6]), v_again: tensor([3, 1], [4, 5, 6]) },
  ...{ q: tensor([1, 1], [7]), q_again: tensor([3, 1], [5, 6, 7]) },
  ...{ scores: tensor([1, 3], [7, 8, 9]), scores_again: tensor([3, 3], [1, 99, 99, 2, 3, 99, 7, 8, 9.125]) },
  scores_before: tensor([2, 2], [1, 98, 2.5, 3]),
};
const everyKey = () => 0;
const byId = (values) => {
  const { head, layer } = matricesOf(values);
  return Object.fromEntries([...head, ...layer].map((matrix) => [matrix.id, matrix]));
};

test("matrices are in the order of the computation; those that the model lacks are left out", () => {
  const { head, layer } = matricesOf(VALUES);
  assert.deepEqual(
    head.map(({ id, cached }) => [id, cached]),
    [
      ["q", false],
      ["k", true],
      ["v", true],
      ["scores", false],
    ],
  );
  assert.deepEqual(layer, []);
});

test("of a long text, whose earlier rows were not compared, only K and V are drawn", () => {
  const { scores_again: _, scores_before: __, ...long } = VALUES;
  assert.deepEqual(Object.keys(byId(long)), ["k", "v"]);
});

test("an earlier number is compared with the cache, with the pass before, or is the same to the last bit", () => {
  const { k, scores, q } = byId(VALUES);
  assert.deepEqual(numberOf(k, 1, 0), { value: 2.25, other: 2, difference: 0.25 });
  assert.deepEqual(numberOf(scores, 1, 0), { value: 2, other: 2.5, difference: 0.5 });
  assert.deepEqual(numberOf(q, 1, 0), { value: 6, other: 6, difference: 0 });
});

test("a number of the newest row is the one with the cache, compared with the one without", () => {
  assert.deepEqual(numberOf(byId(VALUES).scores, 2, 2), { value: 9, other: 9.125, difference: 0.125 });
});

test("masked numbers are neither counted nor compared", () => {
  const { scores, k } = byId(VALUES);
  assert.deepEqual(columnsOf(scores, 1, everyKey), { from: 0, end: 2 });
  assert.deepEqual(earlierRows([scores], everyKey), { numbers: 3, different: 1, largest: 0.5, size: 3 });
  assert.deepEqual(earlierRows([k], everyKey), { numbers: 2, different: 1, largest: 0.25, size: 2.25 });
});

test("rows of K that a local layer no longer reads are not compared with the cache", () => {
  const onlyLast = (row) => (row === 2 ? 2 : 0);
  assert.equal(earlierRows([byId(VALUES).k], onlyLast).numbers, 0);
});

test("earlier rows are blue, the newest is amber, and above the diagonal nothing is painted", () => {
  const colours = (value) => ({ packed: new Uint32Array(256).fill(value) });
  const theme = { cachedK: colours(1), cachedV: colours(2), computedCell: colours(3) };
  const paint = (matrix) =>
    paintMatrix(matrix, { theme, firstKey: everyKey }, { width: 3, rowHeight: 1, rowGap: 0, ratio: 1 });
  const { scores, v } = byId(VALUES);
  assert.deepEqual([...paint(scores).data], [1, 0, 0, 1, 1, 0, 3, 3, 3]);
  assert.deepEqual([...paint(v).data], [2, 2, 2, 2, 2, 2, 3, 3, 3]);
});
