import assert from "node:assert/strict";
import { test } from "node:test";
import { sentenceOf } from "../../../../kvscope/static/shared/facts/prose.js";
import { weightOf } from "../../../../kvscope/static/shared/log/companding.js";
import {
  candidatesOf,
  firstTokensShare,
  meanWeights,
  memoryOf,
  mixOf,
  othersInWords,
  stairsOf,
  timesOf,
  waysOn,
} from "../../../../kvscope/static/stage/intro/facts.js";
import { everyNth, introGeometry } from "../../../../kvscope/static/stage/intro/geometry.js";
import { assertEach, columns, pluck } from "../../support/lists.js";
import { cell, token } from "../../support/wire.js";
import { LOOK, runOf } from "./intro-run.js";

test("the sentence is its tokens' text, in a chat what was typed", () => {
  const run = runOf();
  assert.deepEqual(sentenceOf(run), {
    prompt: ["a", " b", " c"].map((text, position) => ({ position, text })),
    answer: [" d", " e", " f"],
  });
  run.open.chat = true;
  assert.deepEqual(sentenceOf(run).prompt, [{ position: null, text: "a b c\n" }]);
});

test("the candidates are the likeliest, with the share that the run's settings give them", () => {
  const run = runOf();
  const candidates = candidatesOf(run);
  assert.deepEqual(pluck(pluck(candidates, "token"), "text"), [" x", " d"]);
  assert.deepEqual(pluck(candidates, "chosen"), [false, true]);
  const odds = candidates[0].share / candidates[1].share;
  assert.ok(Math.abs(odds - Math.E) < 1e-6, `${odds}`);
  const rest = 1 - candidates[0].share - candidates[1].share;
  assert.ok(rest > 0);
  assert.match(othersInWords(run, candidates), new RegExp(`^7 other tokens share the other ${Math.round(rest * 100)}`));
});

test("a token that is not in the list stands last, without a share where none is known", () => {
  const run = runOf();
  run.steps[0].data.token = { ...token(" elsewhere", 55), forced: true };
  const last = candidatesOf(run).at(-1);
  assert.deepEqual([last.token.text, last.share, last.chosen], [" elsewhere", null, true]);
});

test("what decode reads is the mean of a layer's heads", () => {
  const weights = meanWeights(runOf(), 1, 3);
  assert.equal(weights.length, 4);
  const [first, second] = [0, 1].map((head) => weightOf(cell(1, head, 3, 2)));
  assert.equal(weights[2], (first + second) / 2);
});

test("with the cache each token is computed once, without it every step has all of them", () => {
  const run = runOf();
  const total = (lines, name) => lines.reduce((sum, line) => sum + line[name], 0);
  const stairs = stairsOf(run);
  assert.equal(total(stairs.with, "fresh"), 5);
  assert.equal(total(stairs.with, "again"), 0);
  assert.equal(total(stairs.without, "fresh") + total(stairs.without, "again"), 3 + 4 + 5);
});

test("what a head mixes adds up to all of it, and no token is counted twice", () => {
  const run = runOf();
  const parts = mixOf(run, { ...LOOK, query: 4, key: 1 });
  assert.equal(parts.length, 4);
  assertEach(parts.slice(0, 3), ({ token }) => run.tokens.indexOf(token), [4, 3, 2], "the largest first");
  assert.deepEqual([parts[3].token, parts[3].count], [null, 2]);
  const short = mixOf(run, { ...LOOK, query: 1, key: 0 });
  assertEach(short, ({ token }) => run.tokens.indexOf(token), [1, 0]);
});

test("the first token has a share only where heads take much from it", () => {
  const run = runOf();
  assert.equal(firstTokensShare(run), null);
  run.weight = (_layer, _head, _query, key) => (key === 0 ? 0.55 : 0.15);
  assert.ok(Math.abs(firstTokensShare(run) - 0.55) < 1e-9);
});

test("memory and times are those of the log, with what disturbed them where it says so", () => {
  const run = runOf();
  assert.deepEqual(memoryOf(run), { perToken: 32, positions: 5, used: 160 });
  run.steps[1].data.conditions = { disturbed: true, waiting: null };
  assert.deepEqual(timesOf(run), [
    { rows: 3, ms: 100, disturbed: false },
    { rows: 1, ms: 40, disturbed: true },
    { rows: 1, ms: 40, disturbed: false },
  ]);
});

test("three links lead to the steps and the cell of the captions", () => {
  const run = runOf();
  assert.deepEqual(columns(waysOn({ run, look: LOOK }), "step", "selection"), {
    step: [0, 0, 2],
    selection: [{ view: "tokens" }, { view: "head", ...LOOK }, { view: "cache" }],
  });
  assert.equal(waysOn({ run, look: null }).length, 2);
});

test("columns keep to the picture, whatever its size and their number", () => {
  for (const [width, height, positions] of [
    [1330, 640, 12],
    [358, 500, 12],
    [288, 260, 2],
    [1330, 640, 513],
  ]) {
    const geometry = introGeometry({ width, height }, { positions, layers: 30 });
    const { x, residual, shelf, y, cell: high, shelfAt } = geometry;
    assert.ok(x(0) >= 40 && y(29) > 0 && y(0) + high < height - 20, "room for names and layers");
    assert.ok(shelfAt(positions - 1) + 2 * shelf <= width, `${positions} in ${width}`);
    assert.ok(x(0) + residual <= shelfAt(0) && shelfAt(0) + 2 * shelf <= x(1), "a column ends before the next");
    assert.ok(Math.abs(y(0) + high - y(29) - 30 * high) < 1e-9);
  }
});

test("of names without room every so many is written", () => {
  assert.equal(everyNth(40, 17), 1);
  assert.equal(everyNth(4, 17), 5);
});
