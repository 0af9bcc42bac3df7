import assert from "node:assert/strict";
import { test } from "node:test";
import { readNumber } from "../../../../kvscope/static/learn/parts/read-number.js";
import {
  bitsOf,
  FORMATS,
  smallestOf,
  stepAtOne,
  stored,
} from "../../../../kvscope/static/learn/reference/number-formats.js";
import { plain } from "../../../../kvscope/static/learn/reference/plain.js";
import { symbolsOf } from "../../../../kvscope/static/learn/reference/symbols.js";
import { levelsOf, panelsOf } from "../../../../kvscope/static/learn/reference/tensors.js";
import { assertEach, pluck } from "../../support/lists.js";
import { LIKE_LLAMA, madeRun } from "../../support/made-run.js";

const of = (id) => FORMATS.find((format) => format.id === id);

test("ranges of the formats", () => {
  assert.equal(of("fp32").most, 3.4028234663852886e38);
  assert.equal(of("bf16").most, 3.3895313892515355e38);
  assert.equal(of("fp16").most, 65_504);
  assert.equal(of("fp8 e4m3").most, 448);
  assert.deepEqual([of("int8").most, of("int4").most], [127, 7]);
  assert.equal(smallestOf(of("fp32")), 2 ** -149);
  assert.equal(smallestOf(of("fp16")), 2 ** -24);
  assert.equal(smallestOf(of("fp8 e4m3")), 2 ** -9);
  assert.equal(stepAtOne(of("bf16")), 2 ** -7);
});

test("the bits of a stored number give the number again", () => {
  for (const format of FORMATS.filter(({ kind }) => kind === "float")) {
    for (const value of [0, 1, -2.5, 0.1, 300, 2 ** -9, 1e-8]) {
      const number = stored(value, format, 1).stored;
      const { sign, exponent, fraction } = bitsOf(number, format);
      assert.equal(1 + exponent.length + fraction.length, format.bits, format.id);
      const code = Number.parseInt(exponent, 2);
      const rest = Number.parseInt(fraction, 2) / 2 ** format.fraction;
      const size = code ? (1 + rest) * 2 ** (code - 1 + format.least) : rest * 2 ** format.least;
      assert.equal((sign === "1" ? -1 : 1) * size, number, `${value} in ${format.id}`);
    }
  }
});

test("no number in a group is rounded to more than the group's largest", () => {
  assert.equal(stored(9, of("int8"), 1).code, 127);
  assert.deepEqual(stored(0, of("int4"), 0), { stored: 0, code: 0, scale: 0 });
});

test("numbers are read with a point or an exponent, and written at any size", () => {
  for (const [text, value] of Object.entries({ 0.1: 0.1, "−2.5": -2.5, "3e-8": 3e-8, ".5": 0.5, "+1": 1 }))
    assert.deepEqual(readNumber(text, "x"), { value });
  for (const text of ["", "a", "1,5", "1e999", "NaN", "Infinity", "0x10"])
    assert.ok("problem" in readNumber(text, "x"), text);
  assert.deepEqual([0, -0.1, 65_504, Infinity].map(plain), ["0", "−0.1", "65,504", "∞"]);
  assert.match(plain(3.4e38), /^3\.4 × 10³⁸$/);
});

const run = { n: 7, t: 8, b: 1 };
const LLAMA = { ...LIKE_LLAMA, layers: 2, heads: 4, kv_heads: 2, head_dim: 8, d: 32, d_mlp: 48, vocab: 100 };

test("every symbol has this model's number", () => {
  const values = Object.fromEntries(symbolsOf(LLAMA, run).map(({ symbol, value }) => [symbol, value]));
  const sizes = { d: 32, L: 2, vocab: 100, h: 4, h_kv: 2, d_head: 8, d_ff: 48 };
  assert.deepEqual(values, { N: 7, T: 8, B: 1, ...sizes });
});

const RUN = madeRun({
  words: ["a", "b", "c", "d"],
  promptLength: 2,
  row: (_l, head, query) => Array(query + 1).fill(10 * head + query),
});
RUN.steps = [{ topLogits: [3] }, { topLogits: [21.5] }];

const sizesOf = ({ axes }) => pluck(axes, "size");

test("without a model the tensors come from the log, and two runs have a batch axis", () => {
  const levels = levelsOf([RUN, RUN], null);
  assert.deepEqual(pluck(levels, "rank"), [0, 1, 2, 3, 4]);
  assertEach(levels, sizesOf, [[], [4], [4, 4], [4, 4, 4], [2, 4, 4, 4]]);
  assert.equal(levels[0].at(), 21.5);
  assert.equal(levels[3].at(2, 1, 1), RUN.weight(1, 2, 1, 1));
  assert.equal(levels[3].at(2, 1, 3), 0, "masked");
  assert.deepEqual(pluck(levelsOf([RUN], null), "rank"), [0, 1, 2, 3]);
});

test("with a model the tensors are its keys, and the panels are slices of them", () => {
  const keys = [0, 1].map((batch) =>
    [0, 1].map((head) => Float32Array.from({ length: 32 }, (_, at) => 1000 * batch + 100 * head + at)),
  );
  const levels = levelsOf([RUN, RUN], { row: [5, 6, 7], keys });
  assertEach(levels, sizesOf, [[], [3], [4, 8], [2, 4, 8], [2, 2, 4, 8]]);
  const panels = panelsOf(levels[4]);
  assert.deepEqual(pluck(panels, "index").flat(), [0, 0, 0, 1, 1, 0, 1, 1]);
  const { lines, linesBefore, moreNumbers } = panels[3];
  assert.deepEqual([linesBefore, moreNumbers], [1, 3]);
  assert.deepEqual(pluck(lines, "name"), ["b", "c", "d"]);
  assert.deepEqual(lines[0].numbers, [1108, 1109, 1110, 1111, 1112]);
  assert.equal(panelsOf(levels[0])[0].lines[0].numbers[0], 21.5);
});
