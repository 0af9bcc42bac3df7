import assert from "node:assert/strict";
import { test } from "node:test";
import { align, comparisonOf } from "../../../../kvscope/static/shared/compare/alignment.js";
import { runOf } from "../../support/compared-runs.js";
import { columns } from "../../support/lists.js";

/** The tokens of each side, with a dot in each column that has none of it. */
const texts = ({ columns }, a, b) =>
  Object.entries({ a, b }).map(([side, { tokens }]) =>
    columns.map((column) => tokens[column[side]]?.text ?? "·").join(" "),
  );

test("equal runs have one column for each token and no difference", () => {
  const [a, b] = [runOf(["x", "y", "z", "."]), runOf(["x", "y", "z", "."])];
  const { columns, parting, moments } = comparisonOf(a, b);
  assert.deepEqual(
    columns,
    [0, 1, 2, 3].map((at) => ({ a: at, b: at, same: true })),
  );
  assert.equal(parting, null);
  assert.deepEqual(moments, [
    { column: 2, a: 0, b: 0 },
    { column: 3, a: 1, b: 1 },
  ]);
});

test("the first tokens that differ are in one column, whatever comes later", () => {
  const a = runOf(["it", "is", "big", ".", "End"]);
  const b = runOf(["it", "is", "big", "and", "old", ".", "End"]);
  const found = comparisonOf(a, b);
  assert.deepEqual(texts(found, a, b), ["it is big . · · End", "it is big and old . End"]);
  assert.deepEqual(found.moments[found.parting], { column: 3, a: 1, b: 1 });
});

test("a longer prompt is aligned with the shorter one, and the answers with each other", () => {
  const a = runOf(["one", "two", "yes", "!"], { promptLength: 2 });
  const b = runOf(["one", "new", "two", "yes", "!"], { promptLength: 3 });
  for (const text of texts(comparisonOf(a, b), a, b)) assert.ok(text.endsWith("yes !"), text);
  assert.deepEqual(comparisonOf(a, b).moments[0], { column: 3, a: 0, b: 0 });
});

test("a prompt that continues with the other's answer has the same tokens in the same columns", () => {
  const a = runOf(["one", "two", "three", "four"], { promptLength: 2 });
  const b = runOf(["one", "two", "three", "four"], { promptLength: 3 });
  const { columns, moments } = comparisonOf(a, b);
  assert.ok(columns.every(({ same }) => same));
  assert.deepEqual(moments[0], { column: 2, a: 0, b: null });
});

test("runs of two models are aligned by the text of their tokens, runs of one by ids", () => {
  const other = (text) => 1000 + text.length;
  const words = ["a", "bb", "ccc", "dddd"];
  const [a, b] = [runOf(words), runOf(words, { model: "other", ids: other })];
  assert.ok(align(a, b).columns.every(({ same }) => same));
  const sameModel = runOf(words, { ids: other });
  assert.ok(align(a, sameModel).columns.every(({ same }) => !same));
});

/** A generator of its own, so that a failure can be repeated. */
function* randoms(seed) {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    yield (state >>> 16) / 65536;
  }
}

test("exchanging two runs exchanges the sides; each token is in one column; only equal tokens count as the same", () => {
  const random = randoms(7);
  const next = (count) => Math.floor(random.next().value * count);
  const words = () => Array.from({ length: 3 + next(9) }, () => "abcd"[next(4)]);
  for (let round = 0; round < 300; round++) {
    const [first, second] = [words(), words()];
    const a = runOf(first, { promptLength: 1 + next(first.length - 2) });
    const b = runOf(second, { promptLength: 1 + next(second.length - 2) });
    const [there, back] = [comparisonOf(a, b), comparisonOf(b, a)];
    const mirrored = back.columns.map(({ a: other, b: own, same }) => ({ a: own, b: other, same }));
    assert.deepEqual(there.columns, mirrored, `${first} | ${second}`);
    for (const side of ["a", "b"]) {
      const positions = there.columns.map((column) => column[side]).filter((at) => at !== null);
      assert.deepEqual(positions, [...{ a, b }[side].tokens.keys()]);
    }
    for (const { a: x, b: y, same } of there.columns) {
      if (same) assert.equal(first[x], second[y]);
    }
  }
});

test("as many answer tokens are aligned as are in a longest common subsequence", () => {
  const a = runOf(["p", "q", "x", "a", "b", "c", "d", "e"]);
  const b = runOf(["p", "q", "y", "b", "d", "z", "e"]);
  const same = align(a, b).columns.filter((column) => column.same);
  assert.equal(same.length, 2 + 3);
});

test("a special token at the beginning of only one model's prompt has its own column", () => {
  const gemma = runOf(["<bos>", "The", "sky", "is", "blue"], { promptLength: 3, model: "g", specials: ["<bos>"] });
  const other = runOf(["The", "sky", "is", "grey"], { model: "s" });
  const found = comparisonOf(gemma, other);
  assert.deepEqual(texts(found, gemma, other), ["<bos> The sky is blue", "· The sky is grey"]);
  assert.deepEqual([found.lead, found.first], [1, 4]);
  assert.deepEqual(found.moments[found.parting], { column: 4, a: 1, b: 1 });
  assert.equal(texts(comparisonOf(other, gemma), other, gemma)[0], "· The sky is grey");
});

test("special tokens at the beginning of both are aligned, and extra ones are no difference", () => {
  const specials = ["<bos>", "<turn>"];
  const a = runOf(["<bos>", "<turn>", "Hi", "!"], { promptLength: 3, specials });
  const b = runOf(["<turn>", "Hi", "!"], { promptLength: 2, model: "s", specials });
  const found = comparisonOf(a, b);
  assert.deepEqual(columns(found.columns, "a", "b"), { a: [0, 1, 2, 3], b: [null, 0, 1, 2] });
  assert.equal(found.first, null);
});
