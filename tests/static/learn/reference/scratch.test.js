import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluated, MOST_CHARACTERS } from "../../../../kvscope/static/learn/reference/scratch.js";

/** Returns the last value of a text: its shape, and its numbers to four digits. */
function last(text) {
  const result = evaluated(text);
  assert.ok("values" in result, result.problem);
  const { shape, data } = result.values.at(-1).value;
  return [shape, [...data].map((value) => Number(value.toPrecision(4)))];
}

test("matrices are multiplied, transposed and indexed", () => {
  assert.deepEqual(last("x = [[1,2],[3,4]]; x @ x.T"), [
    [2, 2],
    [5, 11, 11, 25],
  ]);
  assert.deepEqual(last("[1, 2] @ [[1, 2, 3], [4, 5, 6]]"), [[3], [9, 12, 15]]);
  assert.deepEqual(last("[1, 2] @ [3, 4]"), [[], [11]]);
  assert.deepEqual(last("x = [[1,2,3],[4,5,6]]; x.T"), [
    [3, 2],
    [1, 4, 2, 5, 3, 6],
  ]);
  assert.deepEqual(last("x = [[1,2],[3,4]]\nx[-1][0]"), [[], [3]]);
});

test("shapes are combined as in NumPy", () => {
  assert.deepEqual(last("[[1],[2]] + [10, 20, 30]"), [
    [2, 3],
    [11, 21, 31, 12, 22, 32],
  ]);
  assert.deepEqual(last("1 - 2 * [1, 2] / 4"), [[2], [0.5, 0]]);
  assert.deepEqual(last("-[[[1, 2]]]"), [
    [1, 1, 2],
    [-1, -2],
  ]);
});

test("functions are over the last axis", () => {
  assert.deepEqual(last("softmax([[0, 0], [1, 1]])"), [
    [2, 2],
    [0.5, 0.5, 0.5, 0.5],
  ]);
  assert.deepEqual(last("softmax([2.108, 2.018] / sqrt(2))"), [[2], [0.5159, 0.4841]]);
  assert.deepEqual(last("sum([[1, 2], [3, 4]])"), [[2], [3, 7]]);
  assert.deepEqual(last("mean([1, 2, 6])"), [[], [3]]);
  assert.deepEqual(last("max(exp([0, 0]))"), [[], [1]]);
});

test("numbers are float32", () => {
  assert.equal(evaluated("16777217").values[0].value.data[0], 16_777_216);
});

test("a problem is named", () => {
  for (const [text, problem] of [
    ["x @ 1", /x has no value yet/],
    ["[1, 2] @ [1, 2, 3]", /does not fit: 2 numbers in a row, 3 in a column/],
    ["[1, 2] + [1, 2, 3]", /\[2\] and \[3\] do not fit/],
    ["[[1, 2], [3]]", /The rows differ: one is \[2\], another \[1\]/],
    ["[1, 2", /cannot be read/],
    ["[]", /no numbers/],
    ["[1,2].T", /\.T takes a tensor of 2 axes/],
    ["[1, 2][2]", /Index 2 does not exist/],
    ["x = 3; x[0]", /no axis/],
    ["1 @ 2", /@ takes tensors of 1 or 2 axes/],
    ["[1] = 2", /Left of = stands a name/],
    ["[[[[[1]]]]]", /at most 4 axes/],
  ])
    assert.match(evaluated(text).problem, problem, text);
});

test("nothing but tensors is computed", () => {
  for (const text of [
    "'a'",
    "x.constructor",
    "constructor('return 1')()",
    "this",
    "true",
    "(() => 1)",
    "a ? b : c",
    "[1].length",
    "`x`",
    "sqrt.call(1)",
    "__proto__",
    "toString(1)",
    "hasOwnProperty(1)",
  ])
    assert.equal(typeof evaluated(text).problem, "string", text);
});

test("sizes are bounded", () => {
  assert.match(evaluated("1;".repeat(21)).problem, /21 statements/);
  assert.match(evaluated(" ".repeat(MOST_CHARACTERS + 1)).problem, /characters/);
  const row = `[${"1,".repeat(99)}1]`;
  assert.match(evaluated(`r = ${row}; c = [r].T; c * r; [c * r, c * r]`).problem, /too large/);
});
